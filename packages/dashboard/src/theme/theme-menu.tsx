import { Monitor, Moon, Sun } from 'lucide-react';
import { useSyncExternalStore } from 'react';
import { Menu, MenuChoice } from '../parts/menu.tsx';
import { chooseTheme, onThemeChange, readTheme, type Theme, themes } from './theme.ts';

const looks = {
  system: { label: 'As the device', Icon: Monitor },
  light: { label: 'Light', Icon: Sun },
  dark: { label: 'Dark', Icon: Moon },
} as const satisfies Record<Theme, unknown>;

/** A button that opens the choice between light and dark. */
export function ThemeMenu() {
  const theme = useSyncExternalStore(onThemeChange, readTheme);
  const { Icon, label } = looks[theme];
  return (
    <Menu
      label={`Theme: ${label.toLowerCase()}`}
      trigger={<Icon size={17} aria-hidden />}
      triggerClass="grid size-9 place-items-center rounded-md text-soft hover:bg-panel hover:text-ink"
    >
      {themes.map((one) => (
        <MenuChoice
          key={one}
          label={looks[one].label}
          icon={<IconOf theme={one} />}
          isChosen={one === theme}
          onChoose={() => chooseTheme(one)}
        />
      ))}
    </Menu>
  );
}

function IconOf({ theme }: { readonly theme: Theme }) {
  const { Icon } = looks[theme];
  return <Icon size={16} aria-hidden />;
}
