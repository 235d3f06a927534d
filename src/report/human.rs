//! Source excerpts with labels, as rustc shows them.

use std::io;

use codespan_reporting::diagnostic::{Diagnostic as Shown, Label as Mark, LabelStyle, Severity as Level};
use codespan_reporting::files;
use codespan_reporting::term::termcolor::{Ansi, NoColor};
use codespan_reporting::term::{Config, emit_to_write_style};

use lmem_base::diagnostic::{Diagnostic, Label, Report, Severity};
use lmem_base::source::Span;
use lmem_base::words::plural;

use super::excerpt::{Excerpts, clean, one_line};
use super::figures::Figures;
use super::wrap::wrapped;
use super::{Context, compilers, facts, group, suggestion};

/// Columns for line numbers and borders.
const GUTTER: usize = 10;
/// Minimum columns of source text on a narrow terminal.
const MIN_WIDTH: usize = 40;

pub(super) fn render(report: &Report, cx: &Context, out: &mut dyn io::Write) -> io::Result<()> {
    let digest = (!cx.full).then(|| compilers::digest(&report.diagnostics));
    let all = group::by_cause(digest.as_deref().unwrap_or(&report.diagnostics));
    // A single finding beyond the limit is shown: a message that it is left out would not be worth its line.
    let limit = cx.limit.filter(|limit| all.len() > limit + 1).unwrap_or(all.len());
    all.iter().take(limit).try_for_each(|shown| out.write_all(text(shown, cx).as_bytes()))?;
    match all.get(limit..) {
        None | Some([]) => Ok(()),
        Some(left) => out.write_all(left_out(left.len()).as_bytes()),
    }
}

/// The message in place of findings that would scroll off the terminal.
fn left_out(count: usize) -> String {
    let count = plural(count as u64, "more finding");
    format!("… {count}: `-v` shows all, `--message-format short` one line each\n\n")
}

/// One diagnostic with its help, followed by an empty line.
pub(super) fn text(diagnostic: &Diagnostic, cx: &Context) -> String {
    let excerpts = Excerpts::new(&spans(diagnostic), cx.width.saturating_sub(GUTTER).max(MIN_WIDTH));
    let mut text = part(&shown(diagnostic, &excerpts, cx), &excerpts, cx.color);
    if let Some(file) = diagnostic.primary.as_ref().filter(|label| label.span.is_whole_file()) {
        text = with_file(&text, &file.span.file.display);
    }
    if let Some(kernel) = Figures::new(facts::kernels(diagnostic), None).kernel() {
        text = with_kernel(&text, &kernel);
    }
    for help in &diagnostic.help {
        let message = wrapped(&clean(&help.message), cx.columns(), "help: ".len(), "      ");
        text.push_str(&part(&Shown::help().with_message(message), &excerpts, cx.color));
    }
    let primary = diagnostic.primary.as_ref().map(|label| &label.span.file);
    for (index, suggested) in diagnostic.suggestions.iter().enumerate() {
        let is_known = diagnostic.suggestions[..index].iter().any(|known| known.title == suggested.title);
        if index > 0 && !cx.full {
            if is_known {
                continue;
            }
            let title = wrapped(&clean(&format!("or {}", suggested.title)), cx.columns(), "help: ".len(), "      ");
            text.push_str(&part(&Shown::help().with_message(title), &excerpts, cx.color));
            continue;
        }
        let figures = suggested.is_proven().then(|| Figures::new(facts::kernels(diagnostic), Some(suggested)).text());
        let figures = figures.flatten();
        text.push_str(&suggestion::text(suggested, figures.as_deref(), primary, cx));
    }
    text.push('\n');
    text
}

/// Adds a location line below the message, for a file without a line that is to blame.
fn with_file(text: &str, name: &str) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_string).collect();
    let notes = lines.iter().position(|line| without_colors(line).trim_start().starts_with("= "));
    lines.insert(notes.unwrap_or(lines.len()), format!(" ┌─ {}", clean(name)));
    lines.iter().fold(String::new(), |text, line| text + line + "\n")
}

/// Adds the name of the only kernel to the location line.
fn with_kernel(text: &str, kernel: &str) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_string).collect();
    if let Some(place) = lines.iter_mut().find(|line| without_colors(line).contains("┌─ ")) {
        place.push_str(&format!(" in {}", clean(kernel)));
    }
    lines.iter().fold(String::new(), |text, line| text + line + "\n")
}

fn spans(diagnostic: &Diagnostic) -> Vec<&Span> {
    diagnostic.primary.iter().chain(&diagnostic.secondary).map(|label| &label.span).collect()
}

fn shown(diagnostic: &Diagnostic, excerpts: &Excerpts, cx: &Context) -> Shown<usize> {
    let columns = cx.columns();
    let level = match diagnostic.severity {
        Severity::Note => Level::Note,
        Severity::Warning => Level::Warning,
        Severity::Error => Level::Error,
    };
    let primary = diagnostic.primary.iter().filter(|label| !label.span.is_whole_file());
    let primary = primary.filter_map(|label| mark(label, LabelStyle::Primary, excerpts));
    let secondary = diagnostic.secondary.iter();
    let secondary = secondary.filter_map(|label| mark(label, style(label, &diagnostic.secondary), excerpts));
    let mut notes = facts::notes_for_people(diagnostic);
    if cx.full {
        notes.extend(facts::rejections(diagnostic));
    }
    let notes = notes.iter().map(|note| wrapped(&clean(note), columns, NOTE_LEAD, "")).collect();
    let name = clean(diagnostic.code.name()).into_owned();
    let lead = facts::severity_word(diagnostic.severity).len() + name.len() + "[]: ".len();
    let mut shown = Shown::new(level)
        .with_message(wrapped(&clean(&diagnostic.message), columns, lead, "    "))
        .with_labels(primary.chain(secondary).collect())
        .with_notes(notes);
    shown.code = Some(name).filter(|name| !name.is_empty());
    shown
}

/// Indentation of the text of a note, and of its further lines.
const NOTE_LEAD: usize = 8;

/// A label inside another one (the index in an access) is drawn with carets, otherwise they would look alike.
fn style(label: &Label, all: &[Label]) -> LabelStyle {
    let (inner, line) = (label.span.range(), label.span.start_line());
    let is_around = |outer: &Span| {
        outer.start <= inner.start && outer.end >= inner.end && outer.range() != inner && outer.start_line() == line
    };
    let is_within = all.iter().any(|other| is_same_file(&other.span, &label.span) && is_around(&other.span));
    if is_within { LabelStyle::Primary } else { LabelStyle::Secondary }
}

fn is_same_file(one: &Span, other: &Span) -> bool {
    one.file.path == other.file.path
}

fn mark(label: &Label, style: LabelStyle, excerpts: &Excerpts) -> Option<Mark<usize>> {
    let (file, range) = excerpts.locate(&label.span)?;
    // codespan draws a label on one line; a line break would damage its borders.
    Some(Mark::new(style, file, range).with_message(one_line(&label.text)))
}

/// The output of codespan, without its trailing empty line.
fn part(shown: &Shown<usize>, excerpts: &Excerpts, color: bool) -> String {
    let text = draw(shown, excerpts, color).or_else(|_| {
        // If a label cannot be drawn, the message is shown without labels.
        draw(&shown.clone().with_labels_iter([]), excerpts, color)
    });
    let text = text.unwrap_or_else(|_| format!("{}\n\n", shown.message));
    let lines = text.strip_suffix('\n').unwrap_or(&text).lines();
    // codespan pads borders with spaces, and surrounds excerpts with empty lines.
    let lines: Vec<&str> = lines.filter(|line| !is_bar(line)).collect();
    // A line between two labelled ones has no label of its own and is dropped.
    let is_unmarked =
        |index: usize| is_source(lines[index]) && lines.get(index + 1).is_some_and(|next| is_source(next));
    let shown = (0..lines.len()).filter(|index| !is_unmarked(*index));
    shown.fold(String::new(), |text, index| text + lines[index].trim_end() + "\n")
}

/// Whether a line shows source with its number, and no part of a multi-line label.
fn is_source(line: &str) -> bool {
    let bare = without_colors(line);
    let Some((number, text)) = bare.split_once('│') else { return false };
    number.trim().parse::<usize>().is_ok() && !text.trim_start().starts_with(['│', '╭', '╰'])
}

/// Whether a line only has a border or a gap mark, in any color: the line numbers show gaps.
fn is_bar(line: &str) -> bool {
    matches!(without_colors(line).trim(), "│" | "·")
}

fn without_colors(line: &str) -> String {
    let mut parts = line.split('\u{1b}');
    let first = parts.next().unwrap_or_default().to_string();
    parts.fold(first, |bare, part| bare + part.split_once('m').map_or("", |(_, text)| text))
}

fn draw(shown: &Shown<usize>, excerpts: &Excerpts, color: bool) -> Result<String, files::Error> {
    let config = Config::default();
    let bytes = if color {
        let mut writer = Ansi::new(Vec::new());
        emit_to_write_style(&mut writer, &config, excerpts, shown)?;
        writer.into_inner()
    } else {
        let mut writer = NoColor::new(Vec::new());
        emit_to_write_style(&mut writer, &config, excerpts, shown)?;
        writer.into_inner()
    };
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::MessageFormat;
    use crate::report::fold::fold;
    use crate::report::samples;
    use lmem_base::diagnostic::Code;
    use lmem_base::source::SourceFile;
    use snapbox::{IntoData, assert_data_eq, str};

    fn human(diagnostics: Vec<Diagnostic>) -> String {
        samples::rendered(&Report { diagnostics, ..Report::default() }, MessageFormat::Human)
    }

    #[test]
    fn a_terminal_gets_the_costliest_and_is_told_of_the_rest() {
        let packages = samples::packages();
        let shown = |count: usize, limit: Option<usize>| {
            let report = Report { diagnostics: vec![samples::variable(); count], ..Report::default() };
            let mut out = Vec::new();
            render(&report, &Context { limit, ..samples::context(&packages) }, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        let text = shown(5, Some(3));
        assert_eq!(text.matches("warning[dynamic_index]").count(), 3);
        assert!(
            text.ends_with("… 2 more findings: `-v` shows all, `--message-format short` one line each\n\n"),
            "{text}"
        );
        for (count, limit) in [(5, None), (3, Some(3)), (4, Some(3))] {
            let text = shown(count, limit);
            assert!(
                text.matches("warning[dynamic_index]").count() == count && !text.contains("more finding"),
                "{text}"
            );
        }
    }

    #[test]
    fn a_variable_with_three_labels() {
        assert_data_eq!(
            human(vec![samples::variable()]),
            str![[r#"
warning[dynamic_index]: `window` (`float[32]`, 128 B) is in local memory: dynamically indexed
  ┌─ kernels/running_mean.cu:3:11 in `running_mean<32>`
3 │     float window[W];
  │           ^^^^^^ 128 B per thread; 32 local loads, 1 store
7 │     sum += window[k];
  │                   - divergent, loaded from memory (loop at line 4)
  = sm_90: stack frame 128 B, registers 31
help: index with the loop counter and unroll


"#]]
            .raw()
        );
    }

    #[test]
    fn spills_in_a_rust_string() {
        assert_data_eq!(
            human(vec![samples::spill()]),
            str![[r#"
warning[register_spill]: kernel `gemm_tile` spills: launch bounds allow 32 registers, 71 needed
  ┌─ src/kernels.rs:2:49 in `gemm_tile`
2 │ const SRC: &str = "extern \"C\" __global__ void gemm_tile(float* c) {}";
  │                                                 ^^^^^^^^^ 380 B of stack per thread for spills
  = sm_90: stack frame 384 B, spill stores 380 B, spill loads 420 B, registers 32
  = spills in the loop at line 9


"#]]
            .raw()
        );
    }

    #[test]
    fn a_declaration_in_a_header_and_its_use() {
        assert_data_eq!(
            human(vec![samples::header()]),
            str![[r#"
error[dynamic_index]: `count` (`int[4]`, 16 B) is in local memory: dynamically indexed
  ┌─ include/scan.cuh:2:19 in `scan`
2 │ struct Scan { int count[4]; };
  │                   ^^^^^ 16 B per thread
  ┌─ kernels/scan.cu:3:9
3 │ /* 值 */ s.count[k]++;
  │          ---------- indexed here
  = sm_90: stack frame 16 B, registers 31
  = inlined at kernels/scan.cu:3


"#]]
            .raw()
        );
    }

    #[test]
    fn messages_of_compilers_and_of_the_run() {
        assert_data_eq!(
            human(vec![samples::compiler_error(), samples::remark()]),
            str![[r#"
error[nvcc]: identifier "undefined" is undefined
  ┌─ extra/broken.cu:1:23
1 │ __global__ void k() { undefined(); }
  │                       ^^^^^^^^^

note[submodule]: `third_party/cutlass` is a git submodule and was skipped


"#]]
            .raw()
        );
    }

    #[test]
    fn instances_fold_into_a_table() {
        let instances = [(32, "sm_90"), (8, "sm_80"), (16, "sm_90"), (16, "sm_80")];
        let instances = instances.map(|(width, arch)| samples::instance(width, arch));
        assert_data_eq!(
            human(fold(instances.to_vec())),
            str![[r#"
warning[dynamic_index]: `window` (`float[32]`, 128 B) is in local memory: dynamically indexed
  ┌─ kernels/running_mean.cu:3:11
3 │     float window[W];
  │           ^^^^^^ 128 B per thread; 32 local loads, 1 store
7 │     sum += window[k];
  │                   - divergent, loaded from memory (loop at line 4)
  =                                   stack frame  registers
    `running_mean<32>`  sm_90               128 B         31
    `running_mean<16>`  sm_80, sm_90         64 B         31
    `running_mean<8>`   sm_80                32 B         31
help: index with the loop counter and unroll


"#]]
            .raw()
        );
    }

    #[test]
    fn a_whole_file_has_no_line() {
        let file = SourceFile::from_text("k.cu", "#include <x.h>\n");
        let label = Label { span: Span::whole_file(&file), text: String::new() };
        let odd = Diagnostic {
            notes: vec!["as built".to_string()],
            ..samples::diagnostic(Code::Tool("odd"), "it is for debugging", label)
        };
        assert_eq!(human(vec![odd]), "warning[odd]: it is for debugging\n ┌─ k.cu\n = as built\n\n");
    }

    #[test]
    fn odd_spans_are_drawn() {
        let file = SourceFile::from_text("odd.cu", "\tint a;\r\n/* é */ int b[2] = {\n  1,\n  2 };\r\n\u{1b}[31mend");
        let end = file.text().len();
        let ranges = [0..1, 1..8, 8..10, 8..9, 22..45, end..end, end - 3..end + 40, 15..16];
        let labels = ranges.map(|range| Label { span: Span::new(&file, range.clone()), text: format!("{range:?}") });
        let [primary, secondary @ ..] = labels;
        let odd = samples::diagnostic(Code::Tool("odd"), "odd\u{7} spans", primary);
        assert_data_eq!(
            human(vec![Diagnostic { secondary: secondary.to_vec(), ..odd }]),
            str![[r#"
warning[odd]: odd? spans
  ┌─ odd.cu:1:1
1 │     int a;
  │ ^^^^------^
  │ │   │
  │ │   │     8..10
  │ │   │     8..9
  │ │   1..8
  │ 0..1
2 │ /* é */ int b[2] = {
  │      -      -------- 22..45
  │      │
  │      15..16
5 │ ?[31mend
  │      ---^ 52..52
  │      │
  │      49..92


"#]]
            .raw()
        );
    }

    #[test]
    fn a_kernel_in_one_long_line_is_cut_to_the_terminal() {
        let source = format!("const K: &str = \"{}float window[W];{}\";\n", "int x; ".repeat(40), " y();".repeat(40));
        let file = SourceFile::from_text("src/lib.rs", &source);
        let label = samples::label(&file, "window", "128 B per thread");
        let packages = samples::packages();
        let cx = Context { width: 60, ..samples::context(&packages) };
        assert_data_eq!(
            text(&samples::diagnostic(Code::Tool("long"), "a long line", label), &cx),
            str![[r#"
warning[long]: a long line
  ┌─ src/lib.rs:1:304
1 │ …; int x; int x; float window[W]; y(); y(); y(); y(…
  │                        ^^^^^^ 128 B per thread


"#]]
            .raw()
        );
    }

    #[test]
    fn no_span_of_a_small_file_panics() {
        let file = SourceFile::from_text("all.cu", "é\r\n\tx\n\n🦀");
        for start in 0..=file.text().len() + 2 {
            for end in 0..=file.text().len() + 2 {
                let label = Label { span: Span::new(&file, start..end), text: "here".to_string() };
                let text = human(vec![samples::diagnostic(Code::Tool("all"), "a message", label)]);
                let is_whole = (start, end) == (0, 0);
                assert!(text.contains(if is_whole { "┌─ all.cu\n" } else { " here\n" }), "{start}..{end}: {text}");
            }
        }
    }

    #[test]
    fn colour_is_only_there_when_asked_for() {
        let packages = samples::packages();
        let cx = samples::context(&packages);
        let plain = text(&samples::variable(), &cx);
        let colored = text(&samples::variable(), &Context { color: true, ..cx });
        assert!(!plain.contains('\u{1b}') && colored.contains('\u{1b}'));
    }
}
