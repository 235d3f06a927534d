//! The README and the book: every relative link and anchor leads somewhere, the README stays short, its commands are those of the
//! command line, and its picture is what the tool prints.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use snapbox::{Data, IntoData};

/// Lines that a newcomer reads.
const MAX_README: usize = 200;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &Path) -> String {
    fs_err::read_to_string(path).unwrap()
}

/// The README and all chapters.
fn pages() -> Vec<PathBuf> {
    let mut pages = vec![root().join("README.md")];
    for entry in fs_err::read_dir(root().join("docs/src")).unwrap() {
        pages.push(entry.unwrap().path());
    }
    pages.retain(|page| page.extension().is_some_and(|ending| ending == "md"));
    pages.sort();
    pages
}

/// A page without its blocks of code.
fn prose(text: &str) -> String {
    let parts = text.split("```").enumerate().filter(|(index, _)| index % 2 == 0);
    parts.map(|(_, part)| part).collect()
}

/// What stands behind `](` and in `src="…"`, but for addresses of other places.
fn links(text: &str) -> Vec<String> {
    let prose = prose(text);
    let markdown = prose.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let images = prose.split("src=\"").skip(1).filter_map(|rest| rest.split('"').next());
    let links = markdown.chain(images).filter(|link| !link.contains("://") && !link.starts_with("mailto:"));
    links.map(str::to_string).collect()
}

/// The anchors of a page's headings, as GitHub and mdBook make them.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = prose(text).lines().filter(|line| line.starts_with('#')).map(str::to_string).collect::<Vec<_>>();
    let anchor = |heading: &String| {
        let text = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = text.chars().filter(|letter| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_'));
        kept.map(|letter| if letter == ' ' { '-' } else { letter }).collect()
    };
    headings.iter().map(anchor).collect()
}

/// Paths between backticks: words with a slash and a known ending or a slash at the end; `NAME` and `CRATE` stand for any
/// name.
fn paths(text: &str) -> Vec<String> {
    let is_path = |word: &&str| {
        let ending = word.rsplit('/').next().unwrap_or_default().rsplit_once('.').map(|(_, ending)| ending);
        let is_plain = word.chars().all(|letter| letter.is_ascii_alphanumeric() || "/_-.".contains(letter));
        let is_file = matches!(ending, Some("rs" | "md" | "toml" | "txt" | "tsv" | "cu" | "json" | "diff"));
        word.contains('/')
            && is_plain
            && (is_file || word.ends_with('/'))
            && !(word.contains("NAME") || word.contains("CRATE"))
    };
    prose(text).split('`').skip(1).step_by(2).filter(is_path).map(str::to_string).collect()
}

#[test]
fn paths_that_contributors_read_are_there() {
    let folders = ["src", "crates", "lints", "tests", "test-crates", "xtask", "docs", "benches"];
    let files = folders.iter().flat_map(|folder| walkdir::WalkDir::new(root().join(folder)));
    let files: Vec<String> = files.filter_map(Result::ok).map(|file| format!("{}/", file.path().display())).collect();
    // A path is the end of a file's, or a folder on the way.
    let names = |file: &str, path: &str| file.contains(&format!("{}/", path.trim_end_matches('/')));
    let mut missing = Vec::new();
    for page in ["CONTRIBUTING.md", "src/README.md", "test-crates/README.md"] {
        for path in paths(&read(&root().join(page))) {
            // `lmem-frame/object.rs` is short for `crates/lmem-frame/src/object.rs`, `fold/include.rs` for the end of a path.
            let of_crate = path.split_once('/').map(|(name, rest)| format!("/crates/{name}/src/{rest}"));
            let wanted = [Some(format!("/{path}")), of_crate];
            let is_there = files.iter().any(|file| wanted.iter().flatten().any(|wanted| names(file, wanted)));
            // The lint that `new-lint` would write.
            let is_example = path.contains("narrow_index");
            if !is_example && !is_there {
                missing.push(format!("{page}: {path}"));
            }
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

#[test]
fn links_and_anchors_lead_somewhere() {
    let mut broken = Vec::new();
    for page in pages() {
        for link in links(&read(&page)) {
            let (path, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = if path.is_empty() { page.clone() } else { page.parent().unwrap().join(path) };
            let is_there = target.exists();
            if !is_there || !(anchor.is_empty() || anchors(&read(&target)).contains(anchor)) {
                broken.push(format!("{}: {link}", page.strip_prefix(root()).unwrap().display()));
            }
        }
    }
    assert!(broken.is_empty(), "links that lead nowhere:\n{}", broken.join("\n"));
}

#[test]
fn a_link_that_leads_nowhere_is_seen() {
    assert_eq!(links("[a](b.md#c) ```\n[x](y.md)\n``` [d](https://e) <img src=\"f.svg\">"), ["b.md#c", "f.svg"]);
    assert!(anchors("# What does it cost?\n```\n# no\n```").contains("what-does-it-cost"));
    assert_eq!(anchors("# What does it cost?\n```\n# no\n```").len(), 1);
}

#[test]
fn every_chapter_is_in_the_summary() {
    let summary = read(&root().join("docs/src/SUMMARY.md"));
    for page in pages().iter().filter(|page| page.starts_with(root().join("docs"))) {
        let name = page.file_name().unwrap().to_str().unwrap();
        assert!(name == "SUMMARY.md" || summary.contains(&format!("({name})")), "docs/src/SUMMARY.md lacks {name}");
    }
}

#[test]
fn the_readme_is_short() {
    let lines = read(&root().join("README.md")).lines().count();
    assert!(lines <= MAX_README, "README.md has {lines} lines, of {MAX_README}");
}

/// `--flag`s and commands that the pages show are known to the program.
#[test]
fn commands_of_the_pages_are_known() {
    use clap::CommandFactory;
    let command = cargo_lmem::cli::Lmem::command();
    let mut flags: BTreeSet<String> = ["--help", "--version"].map(str::to_string).into();
    let mut add = |command: &clap::Command| {
        flags.extend(command.get_arguments().filter_map(|it| Some(format!("--{}", it.get_long()?))));
    };
    add(&command);
    for subcommand in command.get_subcommands() {
        add(subcommand);
        subcommand.get_subcommands().for_each(&mut add);
    }
    let names: BTreeSet<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
    for page in pages() {
        let text = read(&page);
        let shown = text.lines().filter_map(|line| line.split("cargo lmem ").nth(1).map(|rest| (line, rest)));
        for (line, rest) in shown {
            let ours = rest.split(" -- ").next().unwrap_or(rest).split(['#', '`', ']', '"']).next().unwrap_or_default();
            let words: Vec<&str> = ours.split_whitespace().collect();
            for word in words.iter().filter(|word| word.starts_with("--")) {
                let flag = word.split(['=', ',', ')', ';', '.', ':']).next().unwrap_or(word);
                assert!(flag == "--" || flags.contains(flag), "{}: `{flag}` in: {line}", page.display());
            }
            let is_name = |word: &&&str| word.chars().all(|letter| letter.is_ascii_lowercase()) && word.len() > 3;
            let first = words.first().filter(is_name).filter(|word| !["does", "sees", "for"].contains(word));
            assert!(first.is_none_or(|word| names.contains(word)), "{}: {line}", page.display());
        }
    }
}

/// `SNAPSHOTS=overwrite` draws the picture anew.
#[test]
fn the_picture_is_what_the_tool_prints() {
    let text = read(&root().join("test-crates/expected/seeds.txt"));
    let shown = text.split("\n\n").find(|diagnostic| diagnostic.starts_with("warning[dynamic_index]")).unwrap();
    let path = root().join("docs/src/diagnostic.svg");
    let assert = snapbox::Assert::new().action_env("SNAPSHOTS");
    let expected = Data::read_from(&path, Some(snapbox::data::DataFormat::Text)).raw();
    assert.try_eq(Some(&"docs/src/diagnostic.svg"), picture(shown).into_data().raw(), expected).unwrap();
}

/// Terminal output as a drawing, without fonts or services of others.
fn picture(text: &str) -> String {
    let (glyph, line_height, margin) = (8.43, 19, 14);
    let lines: Vec<&str> = text.lines().collect();
    let columns = lines.iter().map(|line| line.chars().count()).max().unwrap_or(0);
    let (width, height) = ((columns as f64 * glyph) as usize + 2 * margin, lines.len() * line_height + 2 * margin);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#1d1f21\"/>\n\
         <g font-family=\"ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace\" font-size=\"14\" \
         fill=\"#c5c8c6\" xml:space=\"preserve\">\n"
    );
    for (index, line) in lines.iter().enumerate() {
        let code = line.split_once('│').map_or("", |(_, code)| code.trim_start());
        let color = match code {
            _ if line.starts_with("warning") => "#f0c674",
            _ if line.starts_with("help") => "#8abeb7",
            _ if line.contains("│ - ") => "#cc6666",
            _ if line.contains("│ + ") => "#b5bd68",
            _ if code.starts_with(['^', '-']) => "#f0c674",
            _ => "#c5c8c6",
        };
        let escaped = line.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let y = margin + (index + 1) * line_height - 5;
        svg.push_str(&format!("<text x=\"{margin}\" y=\"{y}\" fill=\"{color}\">{escaped}</text>\n"));
    }
    svg + "</g>\n</svg>\n"
}

/// Examples in comments are CUDA, settings and output, so that manifests say `doctest = false`: rustdoc would look at each crate for nothing.
/// Crates whose manifests do not say it have examples in Rust, which `cargo test` runs.
#[test]
fn no_comment_has_an_example_in_rust_that_is_not_tried() {
    let folders = ["src", "lints", "crates"].map(|folder| root().join(folder));
    let walk = folders.iter().flat_map(|folder| walkdir::WalkDir::new(folder).sort_by_file_name());
    let paths = walk.map(|entry| entry.unwrap().into_path());
    let is_tried = |path: &Path| {
        let manifest = path.ancestors().map(|folder| folder.join("Cargo.toml")).find(|manifest| manifest.is_file());
        manifest.is_some_and(|manifest| !read(&manifest).contains("doctest = false"))
    };
    let mut problems = Vec::new();
    for path in paths.filter(|path| path.extension().is_some_and(|ending| ending == "rs" || ending == "md")) {
        let text = read(&path);
        let is_page = path.extension().is_some_and(|ending| ending == "md");
        let lines = text.lines().map(str::trim_start).filter_map(|line| match is_page {
            true => Some(line),
            false => line.strip_prefix("//!").or_else(|| line.strip_prefix("///")).map(str::trim_start),
        });
        // Three of them in the middle of a line are no fence.
        let fences = lines.filter_map(|line| line.strip_prefix("```")).filter(|language| !language.contains('`'));
        let odd = fences.step_by(2).filter(|language| !["cpp", "text", "toml", "sh", "console"].contains(language));
        problems.extend(odd.filter(|_| !is_tried(&path)).map(|language| format!("{}: ```{language}", path.display())));
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}
