import { greeting } from './greeting.js';

const show = (text) => {
  document.getElementById('greeting').textContent = text;
};
show(greeting);
import.meta.hot?.accept('./greeting.js', (edited) => show(edited?.greeting));
