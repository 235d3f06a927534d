//! From an access to the variables that it may be to: through parameters and methods of inlined functions, out to the
//! level whose statement names a local variable.

use std::ops::Range;
use std::path::Path;
use std::rc::Rc;

use tree_sitter::Node;

use super::call_syntax::base_name;
use super::copies;
use super::demangle;
use super::place::Place;
use super::syntax::{Declaration, DeclarationKind, Mention};
use super::view::Views;
use crate::read::FrontEndVariable;

/// The uses of variables that an access may be one of.
pub struct Resolved {
    /// The level of inlining, 0 for the innermost, whose statement has them.
    pub level: usize,
    pub mentions: Vec<Mention>,
    /// The indexed expression at the innermost level, where that is one of a parameter or member that stands for the
    /// variable: `slot[head]`.
    pub inner: Option<Use>,
}

/// An expression that the code of an access was made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Use {
    pub range: Range<usize>,
    pub indices: Vec<Range<usize>>,
    /// Those that an alias was made with.
    pub outer: Vec<Range<usize>>,
}

impl Use {
    pub fn of(mention: &Mention) -> Self {
        Self { range: mention.range.clone(), indices: mention.indices.clone(), outer: mention.outer.clone() }
    }

    pub fn all(&self) -> impl Iterator<Item = &Range<usize>> {
        self.indices.iter().chain(&self.outer)
    }
}

/// Finds the mentions. `fits` tells which uses in the statement at a place can be the access; one that `is_indexed` is
/// rather what has an index there, also where that is a parameter, than a variable that has none.
pub fn resolve(
    places: &[Place],
    views: &Views<'_>,
    is_indexed: bool,
    fits: &dyn Fn(&Mention, &Place) -> bool,
) -> Option<Resolved> {
    let mut inner = None;
    let mut beside: Option<Resolved> = None;
    let mut passed: Vec<String> = Vec::new();
    for (level, place) in places.iter().enumerate() {
        let Some(region) = place.view.region(place.offset) else { continue };
        let parts = parts_of_calls(place, level.checked_sub(1).map(|inner| &places[inner]), &passed);
        let all = mentions(place, region, views);
        let here: Vec<&Mention> = all
            .iter()
            .filter(|mention| match &parts {
                // What a function is given it may read and write, whatever the call looks like.
                Some(parts) => parts.iter().any(|part| holds(part, &mention.range) || holds(&mention.range, part)),
                None => fits(mention, place),
            })
            .collect();
        let (aliases, variables): (Vec<&Mention>, Vec<&Mention>) =
            here.into_iter().partition(|mention| mention.declaration.kind == DeclarationKind::Alias);
        if !variables.is_empty() {
            let has_index = |mention: &&Mention| Use::of(mention).all().next().is_some();
            let is_alias = is_indexed && parts.is_none() && level + 1 < places.len();
            let is_beside = is_alias
                && !variables.iter().any(has_index)
                && aliases.iter().any(|alias| alias.declaration.is_parameter && has_index(alias));
            let found = Resolved { level, mentions: variables.into_iter().cloned().collect(), inner: inner.clone() };
            if !is_beside {
                return Some(found);
            }
            beside = beside.or(Some(found));
        }
        passed = aliases
            .iter()
            .filter(|alias| alias.declaration.is_parameter)
            .map(|alias| alias.declaration.name.clone())
            .collect();
        passed.sort();
        passed.dedup();
        if level == 0 {
            let indexed = aliases.iter().find(|alias| !alias.indices.is_empty());
            inner = match indexed {
                Some(alias) => Some(Use::of(alias)),
                None => only_member(place, region, &all),
            };
        }
    }
    beside
}

fn holds(outer: &Range<usize>, inner: &Range<usize>) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

/// The only indexed member that a method's statement uses.
fn only_member(place: &Place, region: Node<'_>, all: &[Mention]) -> Option<Use> {
    let is_known = |name: &str| all.iter().any(|mention| mention.declaration.name == name);
    let members = place.view.indexed_members(region, &is_known);
    match members.as_slice() {
        [only] => Some(Use { range: only.range.clone(), indices: only.indices.clone(), outer: Vec::new() }),
        _ => None,
    }
}

/// The parts of a statement that the code inlined into it can have its memory from: the arguments for the parameters
/// that it uses, or the object of a method. `None` where the call is not found, or nothing was inlined.
fn parts_of_calls(place: &Place, inner: Option<&Place>, passed: &[String]) -> Option<Vec<Range<usize>>> {
    let callee = demangle(place.callee.as_deref()?);
    let calls = place.view.calls_of(place.view.region(place.offset)?, &callee);
    if calls.is_empty() {
        return None;
    }
    // The parameters are known where the function is the user's, and is the one that was called here.
    let inner = inner.filter(|inner| inner.function == place.callee);
    let parameters = inner.and_then(|inner| inner.view.parameters_around(inner.offset));
    let numbers: Vec<usize> = match (&parameters, passed) {
        (Some(parameters), [_, ..]) => {
            (0..parameters.len()).filter(|number| passed.contains(&parameters[*number])).collect()
        }
        _ => Vec::new(),
    };
    let parts = calls.iter().flat_map(|call| {
        let arguments: Vec<Range<usize>> =
            numbers.iter().filter_map(|number| call.arguments.get(*number).cloned()).collect();
        match (&call.object, arguments.is_empty(), base_name(&callee)) {
            (_, false, _) => arguments,
            (Some(object), true, _) if parameters.is_some() || base_name(&callee) == "operator[]" => {
                vec![object.clone()]
            }
            _ => vec![call.range.clone()],
        }
    });
    Some(parts.collect())
}

/// Uses of variables in the statement at a place, with what the front end knows of them; variables that only the front
/// end knows, as those that a macro declares, too.
fn mentions(place: &Place, region: Node<'_>, views: &Views<'_>) -> Rc<[Mention]> {
    let view = Rc::as_ptr(&place.view) as usize;
    let key = (view, region.start_byte(), region.end_byte(), place.function.clone());
    if let Some(known) = views.mentions.borrow().get(&key) {
        return Rc::clone(known);
    }
    let found: Rc<[Mention]> = find_mentions(place, region, views).into();
    views.mentions.borrow_mut().insert(key, Rc::clone(&found));
    found
}

fn find_mentions(place: &Place, region: Node<'_>, views: &Views<'_>) -> Vec<Mention> {
    let mut mentions: Vec<Mention> = place.view.mentions(region).to_vec();
    for mention in &mut mentions {
        if let Some(variable) = front_end(place, views, &mention.declaration) {
            describe(&mut mention.declaration, variable);
        }
    }
    copies::settle(&mut mentions, place, views);
    let hidden = place.function.as_deref().map(|function| views.front_end.of(function)).unwrap_or_default();
    for variable in hidden {
        if mentions.iter().any(|mention| mention.declaration.name == variable.name) {
            continue;
        }
        if let Some(declaration) = hidden_declaration(place, variable) {
            mentions.extend(place.view.uses_of(region, &declaration));
        }
    }
    mentions
}

/// What the front end knows of a declaration, for the instance of the function that the place is in.
pub fn front_end<'v>(place: &Place, views: &'v Views<'_>, declaration: &Declaration) -> Option<&'v FrontEndVariable> {
    if declaration.is_parameter {
        return None;
    }
    let span = place.view.span(declaration.range.0..declaration.range.1)?;
    let line = u32::try_from(span.start_line()).ok()?;
    views.front_end.variable(place.function.as_deref(), &span.file.path, line, &declaration.name)
}

fn describe(declaration: &mut Declaration, variable: &FrontEndVariable) {
    if declaration.kind == DeclarationKind::Alias {
        return;
    }
    declaration.bytes = variable.bytes.or(declaration.bytes);
    // A name of a type that only the compiler uses is no help.
    if !variable.type_text.contains("_Z") {
        declaration.type_text = variable.type_text.clone();
    }
    declaration.members =
        variable.members.iter().map(|member| (member.path.clone(), member.type_text.clone(), member.bytes)).collect();
}

/// A variable whose declaration the text does not show.
fn hidden_declaration(place: &Place, variable: &FrontEndVariable) -> Option<Declaration> {
    let line = place.view.line_range(variable.line as usize)?;
    let text = place.view.text().get(line.clone())?;
    let file = place.view.span(line.clone())?.file;
    let is_elsewhere = Path::new(&variable.file).file_name() != file.path.file_name();
    if is_elsewhere || place.view.is_declared(place.offset, &variable.name) {
        return None;
    }
    let word = text.match_indices(variable.name.as_str()).find(|(at, name)| {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        !text[..*at].ends_with(is_word) && !text[at + name.len()..].starts_with(is_word)
    });
    let blank = text.len() - text.trim_start().len();
    let range = match word {
        Some((at, name)) => line.start + at..line.start + at + name.len(),
        None => line.start + blank..line.start + text.trim_end().len(),
    };
    let mut declaration = Declaration::hidden(&variable.name, range);
    declaration.kind = match (variable.type_text.ends_with(']'), variable.type_text.ends_with('*')) {
        (true, _) => DeclarationKind::Array,
        (false, true) => DeclarationKind::Alias,
        (false, false) if super::types::is_scalar(&variable.type_text) => DeclarationKind::Scalar,
        (false, false) => DeclarationKind::Aggregate,
    };
    describe(&mut declaration, variable);
    Some(declaration)
}
