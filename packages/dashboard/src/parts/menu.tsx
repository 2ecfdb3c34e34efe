import {
  Content,
  Item,
  ItemIndicator,
  Label,
  Portal,
  RadioGroup,
  RadioItem,
  Root,
  Separator,
  Trigger,
} from '@radix-ui/react-dropdown-menu';
import { Check } from 'lucide-react';
import type { ReactNode } from 'react';

interface MenuProps {
  /** What the button does, for those who cannot see it. */
  readonly label: string;
  readonly trigger: ReactNode;
  readonly triggerClass: string;
  readonly children: ReactNode;
}

/** A button that opens a menu. It is not modal: modal ones add a style element, which the content security policy forbids. */
export function Menu({ label, trigger, triggerClass, children }: MenuProps) {
  return (
    <Root modal={false}>
      <Trigger aria-label={label} className={triggerClass}>
        {trigger}
      </Trigger>
      <Portal>
        <Content
          align="end"
          sideOffset={6}
          collisionPadding={12}
          className="z-20 min-w-48 animate-rise rounded-lg border border-line bg-float p-1 shadow-float"
        >
          {children}
        </Content>
      </Portal>
    </Root>
  );
}

const itemClass =
  'flex h-9 w-full items-center gap-2.5 rounded-md px-2.5 text-sm text-ink outline-none data-highlighted:bg-tint data-highlighted:text-accent';

interface MenuItemProps {
  readonly icon: ReactNode;
  readonly label: string;
  readonly onSelect: () => void;
}

export function MenuItem({ icon, label, onSelect }: MenuItemProps) {
  return (
    <Item className={itemClass} onSelect={onSelect}>
      {icon}
      {label}
    </Item>
  );
}

export function MenuLabel({ children }: { readonly children: ReactNode }) {
  return <Label className="px-2.5 pt-1.5 pb-2 text-[0.8rem] text-soft">{children}</Label>;
}

export function MenuSeparator() {
  return <Separator className="my-1 h-px bg-line" />;
}

interface MenuChoicesProps {
  readonly label: string;
  readonly value: string;
  readonly onChoose: (value: string) => void;
  readonly children: ReactNode;
}

/** Items of which one is chosen. */
export function MenuChoices({ label, value, onChoose, children }: MenuChoicesProps) {
  return (
    <RadioGroup aria-label={label} value={value} onValueChange={onChoose}>
      {children}
    </RadioGroup>
  );
}

interface MenuChoiceProps {
  readonly value: string;
  readonly label: string;
  readonly icon: ReactNode;
}

export function MenuChoice({ value, label, icon }: MenuChoiceProps) {
  return (
    <RadioItem className={itemClass} value={value}>
      {icon}
      <span className="grow">{label}</span>
      <ItemIndicator>
        <Check size={16} aria-hidden />
      </ItemIndicator>
    </RadioItem>
  );
}
