//! Shell completions and manual pages, generated from the definition of the command line.

use std::{io, path::Path};

use clap::CommandFactory;
use clap_complete::Shell;
use clap_mangen::Man;

use super::Cli;

/// Returns the completion script for a shell.
pub(crate) fn completions(shell: Shell) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "silica", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

/// Returns the manual page in roff, the language of `man`.
///
/// # Errors
///
/// The rendering of the page failed. This does not happen, because the page is written to memory.
pub(crate) fn man_page() -> io::Result<String> {
    let mut page = Vec::new();
    Man::new(Cli::command()).render(&mut page)?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}

/// Writes the manual page of `silica` and of each subcommand to a directory. Creates the directory if it does not
/// exist.
///
/// # Errors
///
/// A write to the directory or to a file failed.
pub(crate) fn write_man_pages(directory: &Path) -> io::Result<()> {
    std::fs::create_dir_all(directory)?;
    clap_mangen::generate_to(Cli::command(), directory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shell_has_completions() {
        for shell in [Shell::Bash, Shell::Elvish, Shell::Fish, Shell::PowerShell, Shell::Zsh] {
            let script = completions(shell);
            assert!(script.contains("block-mode") && script.contains("silica"), "{shell}");
        }
    }

    #[test]
    fn manual_has_a_page_for_each_command() {
        let page = man_page().unwrap();
        assert!(page.contains("block\\-mode") && page.contains("zq2: "), "{page}");
        let directory = tempfile::tempdir().unwrap();
        write_man_pages(&directory.path().join("man")).unwrap();
        for name in ["silica.1", "silica-run.1", "silica-config-print.1", "silica-proof-verify.1"] {
            assert!(directory.path().join("man").join(name).exists(), "{name}");
        }
    }
}
