//! Limits what other processes of the host can read of this process and of its files.

use std::io;

use rustix::{
    fs::Mode,
    process::{Resource, Rlimit, setrlimit, umask},
};

/// Sets the umask: only the owner can use files and directories that this process creates from now on. That includes
/// files of the storage engine.
pub fn protect_files() {
    umask(Mode::RWXG | Mode::RWXO);
}

/// Keeps the memory of this process, in which there are keys, out of core dumps and away from debuggers of the same
/// user.
///
/// # Errors
///
/// The error of the operating system.
pub fn protect_memory() -> io::Result<()> {
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
    // A limit of 0 does not hold where the system pipes cores to a program.
    #[cfg(target_os = "linux")]
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)?;
    Ok(())
}
