import { openSqliteStore } from '../../store/sqlite/open.ts';
import { describeMoney } from './history-property-suite.ts';

describeMoney('SQLite', 500, () => openSqliteStore(':memory:'));
