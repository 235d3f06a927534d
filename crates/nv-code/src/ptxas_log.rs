//! Parser for the output of `ptxas -v`: usage lines of every function, warnings and errors.
//!
//! The frame line is unchanged from 11.8 to 13.5, but the line after it grew (`cumulative stack size` from 12.4 on,
//! `used 0 barriers` from 12.8 on). Numbers are therefore found by the words next to them.

use std::collections::BTreeMap;

use lmem_base::diagnostic::{ResourceUsage, Severity};

/// The parsed log, and the lines that were not understood.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PtxasLog {
    /// By mangled name, in the order of names.
    pub functions: BTreeMap<String, FunctionUsage>,
    /// Device functions as compiled for one kernel: (kernel, function).
    pub callees: BTreeMap<(String, String), ResourceUsage>,
    pub messages: Vec<PtxasMessage>,
    /// Lines of ptxas that carry nothing read here, kept so that nothing is lost.
    pub unknown_lines: Vec<String>,
}

/// Figures of one function.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FunctionUsage {
    pub usage: ResourceUsage,
    /// Whether this is a kernel; device functions have lines of their own.
    pub is_entry: bool,
    /// ptxas could not determine the stack size: recursion, `alloca`, indirect calls.
    pub stack_is_unknown: bool,
}

/// A warning or error, with its PTX line if ptxas names one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PtxasMessage {
    pub severity: Severity,
    pub text: String,
    /// Line of the PTX, from 1.
    pub line: Option<usize>,
}

impl PtxasLog {
    pub fn parse(text: &str) -> Self {
        let mut log = Self::default();
        let mut entry = None;
        let mut function = None;
        for line in text.lines() {
            if let Some(name) = quoted_after(line, "Compiling entry function '") {
                entry = Some(name.to_string());
                function = Some(name.to_string());
                log.function(name).is_entry = true;
            } else if let Some((_, name)) = line.split_once("Function properties for ") {
                function = Some(name.trim().to_string());
                log.function(name.trim());
            } else if line.contains("bytes stack frame") {
                log.read_frame(entry.as_deref(), function.as_deref(), line);
            } else if line.contains(": Used ") {
                // This line follows the frame line of the same function; device functions have no such line.
                log.read_usage(function.as_deref().or(entry.as_deref()), line);
            } else {
                log.read_other(line);
            }
        }
        log
    }

    fn function(&mut self, name: &str) -> &mut FunctionUsage {
        self.functions.entry(name.to_string()).or_default()
    }

    fn read_frame(&mut self, entry: Option<&str>, function: Option<&str>, line: &str) {
        let Some(name) = function else { return self.unknown_lines.push(line.to_string()) };
        let stack_frame = number_before(line, "bytes stack frame").unwrap_or(0);
        let spill_stores = number_before(line, "bytes spill stores").unwrap_or(0);
        let spill_loads = number_before(line, "bytes spill loads").unwrap_or(0);
        if let Some(entry) = entry.filter(|entry| *entry != name) {
            let usage = ResourceUsage { stack_frame, spill_stores, spill_loads, ..ResourceUsage::default() };
            self.callees.insert((entry.to_string(), name.to_string()), usage);
        }
        // A device function called by several kernels is compiled for each of them: the largest frame counts.
        let usage = &mut self.function(name).usage;
        if (stack_frame, spill_stores) >= (usage.stack_frame, usage.spill_stores) {
            *usage = ResourceUsage { stack_frame, spill_stores, spill_loads, ..*usage };
        }
    }

    fn read_usage(&mut self, function: Option<&str>, line: &str) {
        let Some(name) = function else { return self.unknown_lines.push(line.to_string()) };
        let usage = &mut self.function(name).usage;
        usage.registers = number_before(line, "registers").and_then(|n| u32::try_from(n).ok()).unwrap_or(0);
        usage.shared = number_before(line, "bytes smem").unwrap_or(0);
    }

    fn read_other(&mut self, line: &str) {
        let Some((severity, place, text)) = message_line(line) else {
            if line.starts_with("ptxas") && !line.contains("bytes gmem") && !line.contains("Compile time") {
                self.unknown_lines.push(line.to_string());
            }
            return;
        };
        if let Some(name) = quoted_after(text, "Stack size for entry function '") {
            self.function(name).stack_is_unknown = true;
        }
        // These two warnings follow from the options this program passes; the usage lines have the figures.
        let asked_for = text.starts_with("Local memory used for function")
            || text.starts_with("Registers are spilled to local memory");
        if !asked_for {
            self.messages.push(PtxasMessage { severity, text: text.to_string(), line: place });
        }
    }
}

/// `ptxas warning : text`, `ptxas file.ptx, line 12; error   : text`, `ptxas fatal   : text`.
fn message_line(line: &str) -> Option<(Severity, Option<usize>, &str)> {
    let rest = line.strip_prefix("ptxas ")?;
    let (head, text) = rest.split_once(" : ").or_else(|| rest.split_once(": "))?;
    let (place, word) = match head.rsplit_once("; ") {
        Some((place, word)) => (place.rsplit_once("line ").and_then(|(_, number)| number.trim().parse().ok()), word),
        None => (None, head),
    };
    let severity = match word.trim() {
        "warning" | "Warning" => Severity::Warning,
        "error" | "fatal" => Severity::Error,
        _ => return None,
    };
    Some((severity, place, text.trim()))
}

fn quoted_after<'a>(line: &'a str, prefix: &str) -> Option<&'a str> {
    line.split_once(prefix)?.1.split_once('\'').map(|(name, _)| name)
}

fn number_before(line: &str, unit: &str) -> Option<u64> {
    let (before, _) = line.split_once(unit)?;
    before.trim_end().rsplit(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_log_of_13_5() {
        let log = PtxasLog::parse(
            "ptxas warning : Local memory used for function 'k', size of stack frame: 64 bytes\n\
             ptxas info    : 0 bytes gmem\n\
             ptxas info    : Compiling entry function 'k' for 'sm_90'\n\
             ptxas info    : Function properties for k\n\
             \x20   64 bytes stack frame, 12 bytes spill stores, 16 bytes spill loads\n\
             ptxas info    : Used 26 registers, used 1 barriers, 64 bytes cumulative stack size, 1024 bytes smem\n\
             ptxas info    : Compile time = 9.203 ms\n\
             ptxas info    : Function properties for callee\n\
             \x20   0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n",
        );
        let kernel = &log.functions["k"];
        assert!(kernel.is_entry);
        let expected =
            ResourceUsage { stack_frame: 64, spill_stores: 12, spill_loads: 16, registers: 26, shared: 1024 };
        assert_eq!(kernel.usage, expected);
        assert!(!log.functions["callee"].is_entry);
        assert_eq!(log.messages, []);
        assert_eq!(log.unknown_lines, Vec::<String>::new());
    }

    #[test]
    fn functions_of_several_kernels_count_with_their_largest_frame() {
        let log = PtxasLog::parse(
            "ptxas info    : Compiling entry function 'k' for 'sm_90'\n\
             ptxas info    : Function properties for k\n\
             \x20   0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n\
             ptxas info    : Function properties for f\n\
             \x20   48 bytes stack frame, 44 bytes spill stores, 40 bytes spill loads\n\
             ptxas info    : Compiling entry function 'l' for 'sm_90'\n\
             ptxas info    : Function properties for l\n\
             \x20   0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n\
             ptxas info    : Function properties for f\n\
             \x20   40 bytes stack frame, 40 bytes spill stores, 40 bytes spill loads\n",
        );
        assert_eq!((log.functions["f"].usage.stack_frame, log.functions["f"].usage.spill_stores), (48, 44));
        assert_eq!(log.callees[&("l".to_string(), "f".to_string())].stack_frame, 40);
    }

    #[test]
    fn reads_the_log_of_11_8() {
        let log = PtxasLog::parse(
            "ptxas info    : Compiling entry function 'k' for 'sm_80'\n\
             ptxas info    : Function properties for k\n\
             \x20   64 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n\
             ptxas info    : Used 32 registers, 384 bytes cmem[0]\n",
        );
        assert_eq!(log.functions["k"].usage.registers, 32);
        assert_eq!(log.functions["k"].usage.shared, 0);
    }

    #[test]
    fn unknown_stack_sizes_and_errors_are_kept() {
        let log = PtxasLog::parse(
            "ptxas warning : Stack size for entry function 'k' cannot be statically determined\n\
             ptxas k.ptx, line 12; error   : Unknown symbol 'x'\n\
             ptxas fatal   : Ptx assembly aborted due to errors\n\
             ptxas something new\n",
        );
        assert!(log.functions["k"].stack_is_unknown);
        assert_eq!(log.messages[1].line, Some(12));
        assert_eq!(log.messages[1].severity, Severity::Error);
        assert_eq!(log.messages[2].text, "Ptx assembly aborted due to errors");
        assert_eq!(log.unknown_lines, ["ptxas something new"]);
    }
}
