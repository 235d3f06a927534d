//! The steps of nvcc, without nvcc: preprocessor, front end, `ptxas`.
//!
//! For each file nvcc asks the host compiler who it is, and starts each step by a shell: a twentieth of what a small file takes. Its steps
//! depend on flags, environment and toolkit, and on the file in names only. So it is asked once (`--dryrun`), for a file that does not exist,
//! and other files with these flags take the same steps. What is not understood in its answer leaves the files to nvcc. So does a step that fails:
//! nvcc says why.

use std::collections::HashMap;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Instant;

use lmem_base::process::{self, End, Output};

use super::failure::CompileError;
use super::run::UnitRun;

/// The file that nvcc is asked about, its name without the ending, and the folder that keeps what the steps write. There are none.
pub const SOURCE: &str = "/nonexistent/lmem-source/lmem-name.cu";
const NAME: &str = "lmem-name";
pub const FOLDER: &str = "/nonexistent/lmem-kept";

/// What nvcc prints before each line that it would have executed.
const MARK: &str = "#$ ";

/// The program of the second step, where nvcc names it by a variable.
const CICC: &str = "\"$CICC_PATH/cicc\" ";

/// The program of the last step.
const ASSEMBLER: &str = "ptxas";

/// Variables with folders, in which what is started, and its libraries, are looked for.
const FOLDER_LISTS: [&str; 2] = ["PATH", "LD_LIBRARY_PATH"];

/// Arguments whose meaning depends on the folder that nvcc is started in, or on a file.
const OF_FILES: [&str; 4] = ["ccbin", "compiler-bindir", "optf", "options-file"];

/// Longer names may be shortened.
const MAX_NAME_BYTES: usize = 100;

/// The steps of a run, by the question that nvcc was asked.
#[derive(Default)]
pub struct Steps {
    known: Mutex<HashMap<String, Known>>,
    answered: Condvar,
}

#[derive(Clone)]
enum Known {
    /// One file has these flags. To ask for it alone would take as long as it saves.
    Once,
    /// Somebody asks.
    Asked,
    Answered(Option<Arc<Plan>>),
}

/// What nvcc does with a file.
#[derive(Debug, PartialEq)]
pub struct Plan {
    environment: Vec<(String, String)>,
    steps: Vec<Step>,
}

#[derive(Debug, PartialEq)]
struct Step {
    /// As nvcc names it.
    name: String,
    program: PathBuf,
    words: Vec<Word>,
}

#[derive(Debug, Clone, PartialEq)]
enum Word {
    Fixed(String),
    Source,
    /// The file's name without its ending, and what follows.
    Named(String),
    /// A file in the folder.
    Kept(String),
    /// A file in the folder that has the file's name, and what follows that.
    KeptNamed(String),
}

impl UnitRun<'_, '_> {
    /// Runs the steps of `command`, where they are known; `question` is the same command for [`SOURCE`] and [`FOLDER`]. `None`: it has to be run itself.
    ///
    /// # Errors
    /// A step waits for a pipe.
    pub fn steps(
        &self,
        command: &Command,
        question: &mut Command,
        source: &Path,
    ) -> Result<Option<Output>, CompileError> {
        let Some(name) = plain_name(source) else { return Ok(None) };
        let Some(plan) = self.plan(question) else { return Ok(None) };
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        let (start, mut end) = (Instant::now(), End::Exit(0));
        for step in &plan.steps {
            let mut of_step = step.command(&plan, source, name, self.folder);
            of_step.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
            of_step.current_dir(&self.unit.base);
            let ran = match step.name == ASSEMBLER {
                true => self.assemble(&mut of_step, true),
                false => self.run_unshown(&mut of_step, b"", &step.name),
            };
            let output = match ran {
                Err(waits @ CompileError::Special(_)) => return Err(waits),
                Err(_) => return Ok(None),
                Ok(output) => output,
            };
            stdout.extend(output.stdout);
            stderr.extend(output.stderr);
            end = output.end;
            match end {
                End::Exit(0) => {}
                End::TimedOut | End::Cancelled => break,
                End::Exit(_) | End::Signal(_) => return Ok(None),
            }
        }
        self.show(command, None, start, end);
        Ok(Some(Output { end, stdout, stderr }))
    }

    /// What nvcc answers, from the second file on that it is asked for.
    fn plan(&self, question: &mut Command) -> Option<Arc<Plan>> {
        let words: Vec<&str> = question.get_args().map(|word| word.to_str()).collect::<Option<_>>()?;
        if words.iter().any(|word| word.starts_with('@') || OF_FILES.iter().any(|name| word.contains(name))) {
            return None;
        }
        let set: Vec<_> = question.get_envs().collect();
        let key = format!("{:?} {words:?} {set:?}", question.get_program());
        // Within nvcc, the user's program cannot be put before `ptxas`.
        match self.compiler.steps.next(&key, self.compiler.ptxas_wrapper.is_some())? {
            Known::Answered(plan) => plan,
            _ => {
                question.arg("--dryrun").current_dir(&self.unit.base);
                let output = self.run_unshown(question, b"", "nvcc").ok().filter(Output::succeeded);
                let plan = output.and_then(|output| Plan::parse(&output.text(), &process::is_executable)).map(Arc::new);
                self.compiler.steps.put(key, plan.clone());
                plan
            }
        }
    }
}

impl Steps {
    /// What is known by now: an answer, or that it is ours to ask. `None` for the first file, and while somebody else asks; if they `must_be_known`,
    /// the first asks, and the others wait.
    fn next(&self, key: &str, must_be_known: bool) -> Option<Known> {
        let mut known = self.known.lock().ok()?;
        while must_be_known && matches!(known.get(key), Some(Known::Asked)) {
            known = self.answered.wait(known).ok()?;
        }
        match known.get(key) {
            None if !must_be_known => {
                known.insert(key.to_string(), Known::Once);
                None
            }
            None | Some(Known::Once) => {
                known.insert(key.to_string(), Known::Asked);
                Some(Known::Asked)
            }
            Some(Known::Asked) => None,
            Some(answered) => Some(answered.clone()),
        }
    }

    fn put(&self, key: String, plan: Option<Arc<Plan>>) {
        if let Ok(mut known) = self.known.lock() {
            known.insert(key, Known::Answered(plan));
        }
        self.answered.notify_all();
    }
}

impl Plan {
    /// Reads what `nvcc --dryrun` prints: variables, and three commands. `None` where there is anything else, as nvcc's own warnings.
    fn parse(text: &str, is_program: &dyn Fn(&Path) -> bool) -> Option<Self> {
        let (mut environment, mut commands) = (Vec::new(), Vec::new());
        for line in text.lines() {
            let line = line.strip_prefix(MARK)?;
            match line.split_once('=').filter(|(name, _)| is_name(name)) {
                Some((name, value)) if commands.is_empty() => environment.push((name.to_string(), value.to_string())),
                Some(_) => return None,
                None => commands.push(line),
            }
        }
        let value = |wanted: &str| environment.iter().rev().find(|(name, _)| name == wanted).map(|(_, value)| &**value);
        let lists = FOLDER_LISTS.map(value);
        let is_safe = |list: &&str| std::env::split_paths(list).all(|folder| folder.is_absolute());
        if !lists.iter().all(|list| list.as_ref().is_some_and(is_safe)) || mentions(environment.iter().map(|it| &*it.1))
        {
            return None;
        }
        let [host, front_end, assembler] = <[&str; 3]>::try_from(commands).ok()?;
        let named = |line| Step::parse(line, value("PATH")?, is_program);
        let front_end = match front_end.strip_prefix(CICC) {
            Some(rest) => Step::new(PathBuf::from(value("CICC_PATH")?).join("cicc"), words(rest)?)?,
            None => named(front_end)?,
        };
        let plan = Self { steps: vec![named(host)?, front_end, named(assembler)?], environment };
        plan.is_usual().then_some(plan)
    }

    /// Whether the steps are those that are known, each with what the one before wrote.
    fn is_usual(&self) -> bool {
        let [host, front_end, assembler] = &self.steps[..] else { return false };
        let kept = |ending: &str| Word::KeptNamed(ending.to_string());
        let (preprocessed, ptx) = (kept(".cpp1.ii"), kept(".ptx"));
        host.has("-E")
            && host.words.contains(&Word::Source)
            && host.writes() == Some(&preprocessed)
            && front_end.name == "cicc"
            && front_end.words.contains(&preprocessed)
            && front_end.writes() == Some(&ptx)
            && assembler.name == ASSEMBLER
            && assembler.words.contains(&ptx)
            && assembler.writes() == Some(&Word::Kept("lmem-out.cubin".to_string()))
    }
}

impl Step {
    fn parse(line: &str, path: &str, is_program: &dyn Fn(&Path) -> bool) -> Option<Self> {
        let mut words = words(line)?.into_iter();
        let name = words.next()?;
        let program = match name.contains('/') {
            true => PathBuf::from(name),
            // As the shell finds it.
            false => std::env::split_paths(path).map(|folder| folder.join(&name)).find(|path| is_program(path))?,
        };
        Self::new(program, words.collect())
    }

    fn new(program: PathBuf, words: Vec<String>) -> Option<Self> {
        let name = program.file_name()?.to_str()?.to_string();
        let words = words.into_iter().map(Word::of).collect::<Option<_>>()?;
        program.is_absolute().then_some(Self { name, program, words })
    }

    fn has(&self, word: &str) -> bool {
        self.words.iter().any(|it| matches!(it, Word::Fixed(text) if text == word))
    }

    fn writes(&self) -> Option<&Word> {
        let at = self.words.iter().rposition(|word| *word == Word::Fixed("-o".to_string()))?;
        self.words.get(at + 1).filter(|_| at + 2 == self.words.len())
    }

    fn command(&self, plan: &Plan, source: &Path, name: &str, folder: &Path) -> Command {
        let mut command = Command::new(&self.program);
        // Host compilers look at their own name.
        command.arg0(&self.name);
        for word in &self.words {
            match word {
                Word::Fixed(text) => command.arg(text),
                Word::Source => command.arg(source),
                Word::Named(ending) => command.arg(format!("{name}{ending}")),
                Word::Kept(file) => command.arg(folder.join(file)),
                Word::KeptNamed(ending) => command.arg(folder.join(format!("{name}{ending}"))),
            };
        }
        command.envs(plan.environment.iter().map(|(name, value)| (name, value)));
        command
    }
}

impl Word {
    /// A word in which the names that nvcc was asked about stand where they are expected, or not at all.
    fn of(text: String) -> Option<Self> {
        let after_name = |text: &str| text.strip_prefix(NAME).filter(|rest| rest.starts_with('.')).map(str::to_string);
        let kept = text.strip_prefix(FOLDER).and_then(|rest| rest.strip_prefix('/'));
        let word = match (kept, after_name(&text)) {
            _ if text == SOURCE => return Some(Self::Source),
            (Some(file), _) => after_name(file).map_or_else(|| Self::Kept(file.to_string()), Self::KeptNamed),
            (None, Some(ending)) => Self::Named(ending),
            (None, None) => Self::Fixed(text),
        };
        let (Self::Fixed(rest) | Self::Named(rest) | Self::Kept(rest) | Self::KeptNamed(rest)) = &word else {
            return None;
        };
        (!mentions([rest.as_str()])).then_some(word)
    }
}

/// Whether texts have parts of the names that nvcc was asked about.
fn mentions<'a>(texts: impl IntoIterator<Item = &'a str>) -> bool {
    texts.into_iter().any(|text| ["lmem-name", "lmem-kept", "lmem-source"].iter().any(|part| text.contains(part)))
}

/// The words of a command, as a shell reads them; `None` if it would do more with it than that.
fn words(line: &str) -> Option<Vec<String>> {
    let mut escaped = false;
    for byte in line.chars() {
        match byte {
            // Within the quotes that nvcc puts around what it was given.
            '"' if escaped => {}
            _ if escaped => return None,
            c if c.is_ascii_alphanumeric() || " \"\\_-+=./:,@%^".contains(c) => {}
            _ => return None,
        }
        escaped = byte == '\\';
    }
    shlex::split(line)
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// The name without its ending of a file that nvcc would name as it is named: by a path without links, and with no character that means
/// something to a shell.
fn plain_name(source: &Path) -> Option<&str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/_-+.".contains(c);
    let (path, name) = (source.to_str()?, source.file_stem()?.to_str()?);
    let is_usual = source.extension().is_some_and(|ending| ending == "cu") && name.len() <= MAX_NAME_BYTES;
    let is_itself = || std::fs::canonicalize(source).is_ok_and(|real| real == source);
    (is_usual && path.chars().all(is_plain) && !name.starts_with(['.', '-']) && is_itself()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANSWER: &str = r#"#$ _SPACE_= 
#$ CICC_PATH=/cuda/bin/../nvvm/bin
#$ LD_LIBRARY_PATH=/cuda/bin/../lib:/nonexistent
#$ PATH=/cuda/bin:/usr/bin
#$ INCLUDES="-I/cuda/bin/../include"  
#$ gcc -std=c++17 -E -x c++ "-I/cuda/include" -D "X=\"a b\"" -include "cuda_runtime.h" "/nonexistent/lmem-source/lmem-name.cu" -o "/nonexistent/lmem-kept/lmem-name.cpp1.ii" 
#$ "$CICC_PATH/cicc" --orig_src_file_name "/nonexistent/lmem-source/lmem-name.cu" --include_file_name "lmem-name.fatbin.c" "/nonexistent/lmem-kept/lmem-name.cpp1.ii" -o "/nonexistent/lmem-kept/lmem-name.ptx"
#$ ptxas -arch=sm_90 -m64 "/nonexistent/lmem-kept/lmem-name.ptx"  -o "/nonexistent/lmem-kept/lmem-out.cubin" 
"#;

    fn parse(text: &str) -> Option<Plan> {
        let programs = ["/usr/bin/gcc", "/cuda/bin/ptxas", "/opt/gcc"].map(Path::new);
        Plan::parse(text, &|path| programs.contains(&path))
    }

    #[test]
    fn names_take_the_place_of_those_that_were_asked_about() {
        let plan = parse(ANSWER).unwrap();
        let programs: Vec<&Path> = plan.steps.iter().map(|step| &*step.program).collect();
        assert_eq!(programs, ["/usr/bin/gcc", "/cuda/bin/../nvvm/bin/cicc", "/cuda/bin/ptxas"].map(Path::new));
        let words = |step: usize| -> Vec<String> {
            let command =
                plan.steps[step].command(&plan, Path::new("/tree/scan.v2.cu"), "scan.v2", Path::new("/tmp/a b"));
            command.get_args().map(|word| word.to_string_lossy().into_owned()).collect()
        };
        let host =
            ["-std=c++17", "-E", "-x", "c++", "-I/cuda/include", "-D", "X=\"a b\"", "-include", "cuda_runtime.h"];
        assert_eq!(words(0), [&host[..], &["/tree/scan.v2.cu", "-o", "/tmp/a b/scan.v2.cpp1.ii"]].concat());
        assert_eq!(words(1)[1..4], ["/tree/scan.v2.cu", "--include_file_name", "scan.v2.fatbin.c"]);
        assert_eq!(words(2)[2..], ["/tmp/a b/scan.v2.ptx", "-o", "/tmp/a b/lmem-out.cubin"]);
        let command = plan.steps[0].command(&plan, Path::new("/a.cu"), "a", Path::new("/tmp"));
        let library_path = command.get_envs().find(|(name, _)| *name == "LD_LIBRARY_PATH").unwrap().1;
        assert_eq!(library_path.unwrap(), "/cuda/bin/../lib:/nonexistent");
    }

    #[test]
    fn what_is_not_understood_is_left_to_nvcc() {
        for (from, to) in [
            // A warning of nvcc itself, another step, one less.
            ("#$ gcc", "nvcc warning : odd\n#$ gcc"),
            ("#$ ptxas", "#$ cudafe++ -o x\n#$ ptxas"),
            ("#$ ptxas", "# ptxas"),
            // Programs that are nowhere, or named from the current folder.
            ("#$ gcc", "#$ clang"),
            ("#$ gcc", "#$ ./gcc"),
            ("\"$CICC_PATH/cicc\"", "\"$OTHER/cicc\""),
            // Lists that lead into the current folder.
            ("lib:/nonexistent", "lib:"),
            ("/cuda/bin:/usr/bin", "/cuda/bin:.:/usr/bin"),
            ("#$ LD_LIBRARY_PATH=/cuda/bin/../lib:/nonexistent\n", ""),
            // What a shell would act on.
            ("-std=c++17", "-std=c++17 -D$HOME"),
            ("-std=c++17", "-std=c++17; touch x"),
            ("-std=c++17", "-DX=\\\\n"),
            ("-std=c++17", "`id`"),
            ("-std=c++17", "'-DX'"),
            ("-std=c++17", "\"-DX"),
            // Names in unexpected places.
            ("-std=c++17", "-DX=lmem-name"),
            ("-std=c++17", "-I/nonexistent/lmem-source"),
            ("lmem-name.fatbin.c", "lmem-name.lmem-name.c"),
            // Other files than those that the next step reads.
            ("lmem-name.cpp1.ii\" \n", "lmem-name.cpp4.ii\" \n"),
            ("lmem-out.cubin", "lmem-name.cubin"),
            ("-E ", ""),
        ] {
            assert!(ANSWER.contains(from), "{from}");
            assert_eq!(parse(&ANSWER.replacen(from, to, 1)), None, "{from} {to}");
        }
        assert!(parse(&ANSWER.replace("#$ gcc", "#$ \"/opt/gcc\"")).is_some());
    }

    #[test]
    fn odd_names_are_left_to_nvcc() {
        let folder = tempfile::tempdir().unwrap();
        let folder = fs_err::canonicalize(folder.path()).unwrap();
        for (name, is_plain) in [
            ("a.cu", true),
            ("a-b+c.d.cu", true),
            ("a b.cu", false),
            ("-a.cu", false),
            ("a.cuh", false),
            ("ä.cu", false),
        ] {
            let path = folder.join(name);
            fs_err::write(&path, "").unwrap();
            assert_eq!(plain_name(&path).is_some(), is_plain, "{name}");
        }
        std::os::unix::fs::symlink(folder.join("a.cu"), folder.join("link.cu")).unwrap();
        assert_eq!(plain_name(&folder.join("link.cu")), None);
        assert_eq!(plain_name(&folder.join("../a.cu")), None);
    }

    #[test]
    fn nvcc_is_asked_from_the_second_file_on() {
        let steps = Steps::default();
        assert!(steps.next("a", false).is_none());
        assert!(matches!(steps.next("a", false), Some(Known::Asked)));
        // Somebody asks.
        assert!(steps.next("a", false).is_none());
        steps.put("a".to_string(), parse(ANSWER).map(Arc::new));
        assert!(matches!(steps.next("a", false), Some(Known::Answered(Some(_)))));
        assert!(steps.next("b", false).is_none());
        assert!(matches!(steps.next("c", true), Some(Known::Asked)));
    }
}
