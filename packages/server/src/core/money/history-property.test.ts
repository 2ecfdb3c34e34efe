import { describeMoney } from '../../../test/core/money-history-suite.ts';
import { openSqliteStore } from '../../store/sqlite/open.ts';

describeMoney('SQLite', 500, () => openSqliteStore(':memory:'));
