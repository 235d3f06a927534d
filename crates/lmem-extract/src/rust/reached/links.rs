//! What Rust code names: modules in other files, and files that it includes. The rules for folders are rustc's.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use memchr::memmem;
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::Lit;

use lmem_project::discover::Package;

use crate::rust::fold::include::OUT_DIR;
use crate::rust::names::words_in;
use crate::rust::scan::scanner::{MAX_DEPTH, code_start};
use crate::rust::scan::tokens::{ident, is_mark, split_at_commas};
use crate::rust::sinks::INCLUDING;

/// Limit on nested macros in a path.
const MAX_MACROS: usize = 16;

/// How often a file of some size may be read: with two paths, the body of a module is read twice, and what is nested in it four
/// times. A token takes a byte at least.
const MAX_TIMES: usize = 4;
const SOME_BYTES: usize = 50_000;

/// Something that a file names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Link {
    /// One of the places of `mod name;`.
    Module(PathBuf),
    /// The file of a `#[path]` or an `include!`.
    Named(PathBuf),
    /// Another name for `include!`.
    OtherName(String),
    /// A path that is not constant.
    Unknown,
}

/// Whether the bytes of a file may name others; most files are told by this, without lexing them.
pub(super) fn may_have_some(bytes: &[u8], names: &BTreeSet<String>) -> bool {
    let is_followed_by = |word: &str, test: &dyn Fn(&[u8]) -> bool| {
        words_in(bytes, &memmem::Finder::new(word)).any(|at| test(bytes[at + word.len()..].trim_ascii_start()))
    };
    is_followed_by("path", &|rest| rest.starts_with(b"=") || rest.starts_with(b"/"))
        || is_followed_by("mod", &|rest| !opens_body(rest))
        || may_include(bytes, names)
}

/// Whether `include!` is used in a file, or gets another name.
pub(super) fn may_include(bytes: &[u8], names: &BTreeSet<String>) -> bool {
    // As the argument of a macro, it may be the name of another.
    const NEXT: [&[u8]; 15] =
        [b"!", b"/", b"as", b",", b")", b"]", b"}", b";", b"=", b"(", b"[", b"{", b"\"", b"r", b"'"];
    let is_used = |rest: &[u8]| NEXT.iter().any(|next| rest.starts_with(next));
    names.iter().any(|name| {
        words_in(bytes, &memmem::Finder::new(name)).any(|at| is_used(bytes[at + name.len()..].trim_ascii_start()))
    })
}

/// The names of files that are included as text, where they are literals without escapes.
pub(super) fn texts(bytes: &[u8]) -> Vec<&str> {
    let mut found = Vec::new();
    for word in INCLUDING {
        for at in words_in(bytes, &memmem::Finder::new(word)) {
            let rest = bytes[at + word.len()..].trim_ascii_start();
            let Some(rest) = rest.strip_prefix(b"!").map(<[u8]>::trim_ascii_start) else { continue };
            let Some((b'(' | b'[' | b'{', rest)) = rest.split_first() else { continue };
            let rest = rest.trim_ascii_start();
            let rest = rest.strip_prefix(b"r").unwrap_or(rest);
            let Some(rest) = rest.trim_ascii_start().strip_prefix(b"\"") else { continue };
            let end = rest.iter().position(|byte| *byte == b'"');
            found.extend(end.and_then(|end| std::str::from_utf8(&rest[..end]).ok()));
        }
    }
    found
}

/// Whether `name {` follows the word `mod`.
fn opens_body(rest: &[u8]) -> bool {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let length = rest.iter().take_while(|byte| is_part(byte)).count();
    length > 0 && rest[length..].trim_ascii_start().starts_with(b"{")
}

/// A file that is read.
pub(super) struct Reading<'a> {
    pub path: &'a Path,
    /// The folder that its modules lie in, relative to its own.
    pub folder: Option<&'a str>,
    pub package: Option<&'a Package>,
    /// What `include!` is called.
    pub names: &'a BTreeSet<String>,
}

/// Where the modules of a block lie.
#[derive(Debug, Clone)]
struct Folder {
    path: PathBuf,
    /// Added to the path, except for a `#[path]` that is not within an inline module.
    below: Option<String>,
}

impl Folder {
    fn of_modules(&self) -> PathBuf {
        self.below.as_ref().map_or_else(|| self.path.clone(), |below| self.path.join(below))
    }
}

/// Where a list of tokens stands.
#[derive(Debug, Clone, Copy, Default)]
struct Depth {
    groups: usize,
    /// A macro is given them.
    is_given: bool,
}

impl Depth {
    fn below(self, is_given: bool) -> Self {
        Self { groups: self.groups + 1, is_given: self.is_given || is_given }
    }
}

/// Macros that use no argument as the name of another: they are given variables that happen to have such a name.
const WITH_VALUES: [&str; 12] = [
    "println",
    "print",
    "eprintln",
    "eprint",
    "format",
    "write",
    "writeln",
    "panic",
    "assert",
    "assert_eq",
    "dbg",
    "vec",
];

/// Whether a group is what a macro is called with.
fn is_given_to_a_macro(tokens: &[TokenTree], at: usize) -> bool {
    let Some(name) = at.checked_sub(2).filter(|_| is_mark(tokens, at - 1, '!')).and_then(|at| ident(tokens, at)) else {
        return false;
    };
    !WITH_VALUES.contains(&name.as_str())
}

/// Whether a word stands alone, as the name of a macro does that another one calls.
fn is_a_name(tokens: &[TokenTree], at: usize) -> bool {
    let is_of_value = at.checked_sub(1).is_some_and(|before| is_mark(tokens, before, '.'));
    let ends = at + 1 == tokens.len() || [',', ';', '='].iter().any(|mark| is_mark(tokens, at + 1, *mark));
    // `name!(include "a.txt")` has nothing between them.
    let is_literal = matches!(tokens.get(at + 1), Some(TokenTree::Literal(_) | TokenTree::Group(_)));
    !is_of_value && (ends || is_literal)
}

/// What was found in a file so far.
#[derive(Default)]
struct Found {
    links: Vec<Link>,
    /// How many tokens may still be looked at.
    tokens_left: usize,
}

impl Reading<'_> {
    /// What the code of the file names; `None` if it cannot be read as Rust, or only in part.
    pub fn links(&self, text: &str) -> Option<Vec<Link>> {
        let tokens = TokenStream::from_str(&text[code_start(text)..]).ok()?;
        let parent = self.path.parent().unwrap_or(Path::new("")).to_path_buf();
        let folder = Folder { path: parent, below: self.folder.map(str::to_string) };
        let tokens_left = MAX_TIMES * text.len().max(SOME_BYTES);
        let mut found = Found { tokens_left, ..Found::default() };
        self.list(tokens, &folder, Depth::default(), &mut found).then_some(found.links)
    }

    /// Whether all was read.
    fn list(&self, tokens: TokenStream, folder: &Folder, depth: Depth, found: &mut Found) -> bool {
        if depth.groups > MAX_DEPTH {
            return false;
        }
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let Some(left) = found.tokens_left.checked_sub(tokens.len()) else { return false };
        found.tokens_left = left;
        let mut is_whole = true;
        // What attributes since the last item say of its path; `None` for what is not constant.
        let mut paths: Vec<Option<String>> = Vec::new();
        let mut at = 0;
        while at < tokens.len() {
            let word = ident(&tokens, at);
            let word = word.as_deref().map(|word| word.strip_prefix("r#").unwrap_or(word));
            match (&tokens[at], word) {
                (TokenTree::Group(group), _) if at > 0 && is_attribute(&tokens, at) => {
                    self.paths_in(group.stream(), 0, &mut paths);
                }
                (TokenTree::Group(group), _) => {
                    let depth = depth.below(is_given_to_a_macro(&tokens, at));
                    is_whole &= self.list(group.stream(), folder, depth, found);
                    // The end of an item; `pub(crate)` is none.
                    if group.delimiter() == Delimiter::Brace {
                        paths.clear();
                    }
                }
                (_, Some("mod")) => {
                    let said = std::mem::take(&mut paths);
                    if let Some((body, inside)) = self.module(&tokens, at, &said, folder, found) {
                        is_whole &=
                            inside.iter().all(|folder| self.list(body.clone(), folder, depth.below(false), found));
                        at += 3;
                        continue;
                    }
                }
                (_, Some(name)) if self.names.contains(name) => {
                    if depth.is_given && is_a_name(&tokens, at) {
                        found.links.push(Link::Unknown);
                    }
                    self.include(&tokens, at, &mut found.links);
                }
                (TokenTree::Punct(mark), _) if mark.as_char() == ';' => paths.clear(),
                _ => {}
            }
            at += 1;
        }
        is_whole
    }

    /// A `mod`: adds where its file may be, or gives the body and the folders that the modules in it may lie in.
    fn module(
        &self,
        tokens: &[TokenTree],
        at: usize,
        said: &[Option<String>],
        folder: &Folder,
        found: &mut Found,
    ) -> Option<(TokenStream, Vec<Folder>)> {
        let name = ident(tokens, at + 1)?;
        let name = name.strip_prefix("r#").unwrap_or(&name).to_string();
        // An inline module has put its own folder into the path already.
        let place = |path: &String| folder.path.join(path);
        if let Some(TokenTree::Group(body)) = tokens.get(at + 2)
            && body.delimiter() == Delimiter::Brace
        {
            let (inner, body) = self.inner_attributes(body.stream());
            let said = || said.iter().chain(&inner);
            found.links.extend(said().filter(|path| path.is_none()).map(|_| Link::Unknown));
            let own = folder.of_modules().join(name);
            let folders = said().flatten().map(place).chain([own]).map(|path| Folder { path, below: None });
            return Some((body, folders.collect()));
        }
        let paths: Vec<PathBuf> = said.iter().flatten().map(place).collect();
        if !is_mark(tokens, at + 2, ';') {
            return None;
        }
        found.links.extend(said.iter().filter(|path| path.is_none()).map(|_| Link::Unknown));
        found.links.extend(paths.into_iter().map(Link::Named));
        // Also beside a `path`: that of a `cfg_attr` may not hold.
        let below = folder.of_modules();
        found.links.push(Link::Module(below.join(format!("{name}.rs"))));
        found.links.push(Link::Module(below.join(&name).join("mod.rs")));
        None
    }

    /// What the attributes `#![…]` at the begin of a module's body say of its path, and the rest of the body.
    fn inner_attributes(&self, body: TokenStream) -> (Vec<Option<String>>, TokenStream) {
        let tokens: Vec<TokenTree> = body.into_iter().collect();
        let mut paths = Vec::new();
        let mut at = 0;
        while is_mark(&tokens, at, '#') && is_mark(&tokens, at + 1, '!') {
            let Some(TokenTree::Group(attribute)) = tokens.get(at + 2) else { break };
            self.paths_in(attribute.stream(), 0, &mut paths);
            at += 3;
        }
        (paths, tokens.into_iter().skip(at).collect())
    }

    /// What an attribute says of the path of a module: `path = "…"`, also in a `cfg_attr`.
    fn paths_in(&self, attribute: TokenStream, depth: usize, paths: &mut Vec<Option<String>>) {
        let tokens: Vec<TokenTree> = attribute.into_iter().collect();
        let name = ident(&tokens, 0);
        let name = name.as_deref().map(|name| name.strip_prefix("r#").unwrap_or(name));
        match (name, tokens.get(1)) {
            (Some("path"), Some(_)) if is_mark(&tokens, 1, '=') => paths.push(self.constant(&tokens[2..], 0)),
            (Some("cfg_attr"), Some(TokenTree::Group(group))) if depth < MAX_MACROS => {
                let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                let parts = split_at_commas(&inner).into_iter().skip(1);
                parts.for_each(|part| self.paths_in(part.iter().cloned().collect(), depth + 1, paths));
            }
            // `unsafe(path = "…")` is no attribute that rustc takes.
            _ => {}
        }
    }

    fn include(&self, tokens: &[TokenTree], at: usize, found: &mut Vec<Link>) {
        if let (Some("as"), Some(other)) = (ident(tokens, at + 1).as_deref(), ident(tokens, at + 2)) {
            found.push(Link::OtherName(other));
            return;
        }
        let Some(TokenTree::Group(group)) = tokens.get(at + 2).filter(|_| is_mark(tokens, at + 1, '!')) else { return };
        let arguments: Vec<TokenTree> = group.stream().into_iter().collect();
        let folder = self.path.parent().unwrap_or(Path::new(""));
        found.push(match self.constant(&arguments, 0) {
            Some(path) if path.contains(OUT_DIR) => match is_made(&path) {
                true => return,
                false => Link::Unknown,
            },
            Some(path) => Link::Named(folder.join(path)),
            None => Link::Unknown,
        });
    }

    /// The text of a literal, `concat!`, or `env!` of what cargo sets for a package.
    fn constant(&self, tokens: &[TokenTree], depth: usize) -> Option<String> {
        let tokens = match tokens {
            [value @ .., TokenTree::Punct(comma)] if comma.as_char() == ',' => value,
            value => value,
        };
        match tokens {
            _ if depth > MAX_MACROS => None,
            [TokenTree::Literal(literal)] => match Lit::new(literal.clone()) {
                Lit::Str(text) => Some(text.value()),
                Lit::Char(letter) => Some(letter.value().to_string()),
                Lit::Int(number) => Some(number.base10_digits().to_string()),
                _ => None,
            },
            [TokenTree::Group(group)] if group.delimiter() == Delimiter::None => {
                self.constant(&group.stream().into_iter().collect::<Vec<_>>(), depth + 1)
            }
            [.., TokenTree::Ident(name), TokenTree::Punct(mark), TokenTree::Group(group)] if mark.as_char() == '!' => {
                let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                let parts = split_at_commas(&inner).into_iter().filter(|part| !part.is_empty());
                let mut parts = parts.map(|part| self.constant(part, depth + 1));
                match name.to_string().as_str() {
                    "concat" => parts.collect(),
                    "env" => self.environment(&parts.next()??),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    fn environment(&self, name: &str) -> Option<String> {
        match (name, self.package) {
            ("CARGO_MANIFEST_DIR", Some(package)) => package.root.to_str().map(str::to_string),
            ("CARGO_PKG_NAME", Some(package)) => Some(package.name.clone()),
            ("OUT_DIR", _) => Some(OUT_DIR.to_string()),
            _ => None,
        }
    }
}

/// Whether a path lies below the folder that a build script writes to: it is no file of the workspace.
fn is_made(path: &str) -> bool {
    path.strip_prefix(OUT_DIR).is_some_and(|rest| !rest.contains(OUT_DIR) && rest.split('/').all(|part| part != ".."))
}

/// Whether the group is that of `#[…]` or `#![…]`.
fn is_attribute(tokens: &[TokenTree], at: usize) -> bool {
    let is_bracket = matches!(&tokens[at], TokenTree::Group(group) if group.delimiter() == Delimiter::Bracket);
    is_bracket
        && (is_mark(tokens, at - 1, '#') || (at > 1 && is_mark(tokens, at - 1, '!') && is_mark(tokens, at - 2, '#')))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn links(folder: Option<&str>, text: &str) -> Vec<String> {
        let names = BTreeSet::from(["include".to_string()]);
        let reading = Reading { path: Path::new("/w/src/a.rs"), folder, package: None, names: &names };
        assert!(may_have_some(text.as_bytes(), &names), "{text}");
        let link = |link: Link| match link {
            Link::Module(path) => format!("module {}", path.display()),
            Link::Named(path) => path.display().to_string(),
            Link::OtherName(name) => format!("as {name}"),
            Link::Unknown => "unknown".to_string(),
        };
        reading.links(text).unwrap().into_iter().map(link).collect()
    }

    #[test]
    fn modules_lie_where_rustc_seeks_them() {
        let named = |folder, text: &str| {
            links(folder, text).into_iter().find(|link| !link.starts_with("module ")).unwrap_or_default()
        };
        assert_eq!(links(None, "mod b;"), ["module /w/src/b.rs", "module /w/src/b/mod.rs"]);
        assert_eq!(links(Some("a"), "mod/**/r#fn ;"), ["module /w/src/a/fn.rs", "module /w/src/a/fn/mod.rs"]);
        assert_eq!(links(Some("a"), "mod b { pub mod c; }")[0], "module /w/src/a/b/c.rs");
        // The four rows of the table in the Rust reference, and those of inline modules with a path.
        assert_eq!(named(Some("a"), "#[path = \"foo.txt\"] mod c;"), "/w/src/foo.txt");
        assert_eq!(named(None, "#[path = \"foo.txt\"] mod c;"), "/w/src/foo.txt");
        assert_eq!(named(Some("a"), "mod i { #[path = \"o.rs\"] mod c; }"), "/w/src/a/i/o.rs");
        assert_eq!(named(None, "mod i { #[path = \"o.rs\"] pub(crate) mod c; }"), "/w/src/i/o.rs");
        let both = links(None, "#[path = \"other\"] mod i { #[path = \"o.rs\"] mod c; }");
        assert!(both.contains(&"/w/src/other/o.rs".to_string()), "{both:?}");
        assert_eq!(
            named(None, "#[cfg_attr(all(), doc = \"\", path = r#\"x.inc\"#)] #[allow(x)] mod c;"),
            "/w/src/x.inc"
        );
        assert_eq!(named(None, "#[cfg_attr(a, cfg_attr(b, path = \"x\"))] mod c;"), "/w/src/x");
        assert_eq!(named(None, "#[path = $p] mod c;"), "unknown");
        assert_eq!(named(None, "#[path = $p] mod b { mod c; }"), "unknown");
        // An attribute of the body counts as one before the module.
        let inner = |text: &str, path: &str| {
            let all = links(None, text);
            assert!(all.contains(&path.to_string()), "{text}: {all:?}");
        };
        inner("mod b { #![path = \"q\"] #[path = \"b.txt\"] mod c; }", "/w/src/q/b.txt");
        inner("mod b { //! of b\n #![cfg_attr(a, path = \"q\")] #[path = \"b.txt\"] mod c; }", "/w/src/q/b.txt");
        inner("mod b { #![path = \"q\"] mod d { #![path = \"v\"] #[path = \"c\"] mod c; } }", "/w/src/q/v/c");
        inner("mod b { mod d { #![path = \"../w\"] mod c; } }", "module /w/src/b/../w/c.rs");
        assert_eq!(named(None, "#[path = \"x\"] fn f() {} mod c;"), "");
    }

    #[test]
    fn includes_are_followed_where_their_path_is_constant() {
        for (text, path) in [
            ("include!(\"k.txt\");", "/w/src/k.txt"),
            ("::std::include![ r\"../k\" , ];", "/w/src/../k"),
            (
                "fn f() { let x = core::include /* a */ !{ concat!(\"a\", '/', 1, concat!(\".inc\")) }; }",
                "/w/src/a/1.inc",
            ),
            ("include!(\"/w/k\");", "/w/k"),
            ("use std::include as other;", "as other"),
            ("macro_rules! m { ($p:literal) => { include!($p); } }", "unknown"),
            ("i!(include, \"x.txt\");", "unknown"),
            ("i! { [std::include] \"x.txt\" }", "unknown"),
            ("i!(a => include \"x.txt\");", "unknown"),
            ("fn f() { j::i![x, include]; }", "unknown"),
            ("include!(env!(\"CARGO_MANIFEST_DIR\"));", "unknown"),
            ("include!(concat!(env!(\"OUT_DIR\"), \"/../../k.txt\"));", "unknown"),
        ] {
            assert_eq!(links(None, text), [path], "{text}");
        }
        assert_eq!(links(None, "include!(concat!(env!(\"OUT_DIR\"), \"/bindings.rs\"));"), [""; 0]);
        for text in ["fn f(include: u8) { println!(\"{}\", include); }", "fn f() { i!(a.include, b); include(1); }"] {
            assert_eq!(links(None, text), [""; 0], "{text}");
        }
        assert_eq!(links(None, "// include!(\"a\")\n const A: &str = \"include!(b)\";"), [""; 0]);
    }

    #[test]
    fn most_files_need_no_lexing() {
        let names = BTreeSet::from(["include".to_string()]);
        assert!(may_have_some(b"i!(include, \"x.txt\");", &names));
        for text in ["mod tests { }", "use std::path::Path; // modules include these", "include_str!(\"a\")"] {
            assert!(!may_have_some(text.as_bytes(), &names), "{text}");
        }
    }

    #[test]
    fn what_is_nested_too_deeply_is_not_whole() {
        let names = BTreeSet::from(["include".to_string()]);
        let reading = Reading { path: Path::new("/w/a.rs"), folder: None, package: None, names: &names };
        let deep = |count: usize| "{".repeat(count) + "mod a;" + &"}".repeat(count);
        assert_eq!(reading.links(&deep(100)).map(|links| links.len()), Some(2));
        assert_eq!(reading.links(&deep(10_000)), None);
        assert_eq!(reading.links("mod \"open"), None);
        // Each of 40 modules may lie in three places.
        let twice = "#[path = \"a\"] #[path = \"b\"] mod m { ".repeat(40) + "mod a;" + &"}".repeat(40);
        assert_eq!(reading.links(&twice), None);
        let concat = "include!(".to_string() + &"concat!(".repeat(100) + "\"a\"" + &")".repeat(101);
        assert_eq!(reading.links(&concat), Some(vec![Link::Unknown]));
    }
}
