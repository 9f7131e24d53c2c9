//! A program, killed at a system call of one's choice: what a crash, a power cut of the process or an impatient `kill -9`
//! does, at every moment that can make a difference to what is on disk.
//!
//! Between two system calls of a process nothing happens that anybody else could see. So to kill it at the entry of
//! call 0, 1, 2, … in turn is to kill it everywhere:
//!
//! ```ignore
//! for n in startup(&run_traced(&mut command()).calls).. {
//!     let folder = fresh_folder();
//!     let outcome = kill_at_syscall(&mut command(), n);
//!     // … what `outcome.stdout` promised must hold, and a retry must work …
//!     if !outcome.killed {
//!         break; // It had fewer calls than n, and came to its end.
//!     }
//! }
//! ```
//!
//! Calls of the main thread are counted, whose number may differ a little from run to run. Linux on x86-64 alone: the
//! number of a call is read from a register.

#![allow(dead_code, reason = "each test file is a program of its own and uses a part")]

use nix::libc;
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

/// How a traced program came to its end.
#[derive(Debug)]
pub struct Outcome {
    /// Whether it was killed by us; otherwise it ended before.
    pub killed: bool,
    /// Its exit code, where it ended by itself.
    pub code: Option<i32>,
    /// What it had printed by then.
    pub stdout: String,
    pub stderr: String,
    /// The numbers of the system calls, of those that count, that it had entered (`nix::libc::SYS_…`).
    pub calls: Vec<i64>,
}

/// Runs a program to its end and notes its system calls.
pub fn run_traced(command: &mut Command) -> Outcome {
    kill_at_syscall(command, usize::MAX)
}

/// How many of a Rust program's system calls are the loader's and the runtime's, before `main`.
pub fn startup(calls: &[i64]) -> usize {
    // A stack for signal handlers is among the last things that the runtime sees to.
    calls.iter().position(|&call| call == libc::SYS_sigaltstack).unwrap_or_default()
}

/// Runs a program and kills it when it is about to make system call number `n`, from zero; that call is not made.
pub fn kill_at_syscall(command: &mut Command, n: usize) -> Outcome {
    kill_at_call(command, n, |_| true)
}

/// The same, where only those calls count that `counts` says: of a program with threads, the number of all calls is chance.
pub fn kill_at_call(command: &mut Command, n: usize, counts: impl Fn(i64) -> bool) -> Outcome {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // SAFETY: between fork and exec the child makes one system call, and touches no memory of ours.
    unsafe { command.pre_exec(|| Ok(ptrace::traceme()?)) };
    let mut child = command.spawn().unwrap();
    let (mut stdout, mut stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    // Read while it runs, so that it never waits for us.
    let stdout = std::thread::spawn(move || text(&mut stdout));
    let stderr = std::thread::spawn(move || text(&mut stderr));
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap());
    let (killed, code, calls) = trace(pid, n, counts);
    // Its end has been seen already; the handle need not know.
    let _ = child.wait();
    Outcome { killed, code, stdout: stdout.join().unwrap(), stderr: stderr.join().unwrap(), calls }
}

fn text(from: &mut impl Read) -> String {
    let mut bytes = Vec::new();
    from.read_to_end(&mut bytes).unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}

fn trace(pid: Pid, n: usize, counts: impl Fn(i64) -> bool) -> (bool, Option<i32>, Vec<i64>) {
    // It stops by itself when the new program has been loaded.
    assert!(matches!(waitpid(pid, None), Ok(WaitStatus::Stopped(_, Signal::SIGTRAP))));
    ptrace::setoptions(pid, Options::PTRACE_O_TRACESYSGOOD | Options::PTRACE_O_EXITKILL).unwrap();
    let (mut calls, mut inside, mut signal) = (Vec::new(), false, None);
    let mut killed = false;
    loop {
        if !killed {
            ptrace::syscall(pid, signal.take()).unwrap();
        }
        match waitpid(pid, None).unwrap() {
            WaitStatus::PtraceSyscall(_) => {
                inside = !inside;
                if inside {
                    let call = ptrace::getregs(pid).unwrap().orig_rax.cast_signed();
                    if counts(call) {
                        calls.push(call);
                    }
                    if calls.len() > n {
                        kill(pid, Signal::SIGKILL).unwrap();
                        killed = true;
                    }
                }
            }
            WaitStatus::Stopped(_, other) => signal = Some(other),
            WaitStatus::Exited(_, code) => return (killed, Some(code), calls),
            WaitStatus::Signaled(..) => return (killed, None, calls),
            _ => {}
        }
    }
}
