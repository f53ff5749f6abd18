/** What a person chose for this browser: the language and the colours. */
export type Theme = "auto" | "light" | "dark";
export type Language = "en" | "zh";

function stored(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

function store(key: string, value: string): void {
  try {
    localStorage.setItem(key, value);
  } catch {
    /* a browser that keeps nothing still works */
  }
}

function firstLanguage(): Language {
  const kept = stored("stellar.language");
  if (kept === "en" || kept === "zh") return kept;
  return navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en";
}

function firstTheme(): Theme {
  const kept = stored("stellar.theme");
  return kept === "light" || kept === "dark" ? kept : "auto";
}

class Prefs {
  language = $state<Language>(firstLanguage());
  theme = $state<Theme>(firstTheme());

  setLanguage(language: Language): void {
    this.language = language;
    store("stellar.language", language);
    this.apply();
  }

  setTheme(theme: Theme): void {
    this.theme = theme;
    store("stellar.theme", theme);
    this.apply();
  }

  apply(): void {
    document.documentElement.lang = this.language === "zh" ? "zh-Hans" : "en";
    if (this.theme === "auto") delete document.documentElement.dataset["theme"];
    else document.documentElement.dataset["theme"] = this.theme;
  }
}

export const prefs = new Prefs();
