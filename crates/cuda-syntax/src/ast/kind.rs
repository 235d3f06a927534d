//! The grammar's names of node kinds and fields. No other module spells them, because a typo there would compile.

use std::sync::OnceLock;

use tree_sitter::Language;

/// The grammar of CUDA C++.
pub(crate) fn language() -> &'static Language {
    static LANGUAGE: OnceLock<Language> = OnceLock::new();
    LANGUAGE.get_or_init(|| tree_sitter_cuda::LANGUAGE.into())
}

macro_rules! kinds {
    ($($variant:ident = $name:literal,)+) => {
        /// The kind of a node.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Kind {
            $(#[doc = concat!("`", $name, "`")] $variant,)+
            /// An operator, bracket or keyword.
            Token,
            /// A kind that no code here asks for, or text that the parser could not read.
            Other,
        }

        impl Kind {
            /// All kinds with their name in the grammar.
            pub const NAMED: &[(Kind, &str)] = &[$((Kind::$variant, $name)),+];
        }
    };
}

kinds! {
    AbstractPointerDeclarator = "abstract_pointer_declarator",
    AbstractReferenceDeclarator = "abstract_reference_declarator",
    AccessSpecifier = "access_specifier",
    AliasDeclaration = "alias_declaration",
    ArgumentList = "argument_list",
    ArrayDeclarator = "array_declarator",
    AssignmentExpression = "assignment_expression",
    AttributedDeclarator = "attributed_declarator",
    BaseClassClause = "base_class_clause",
    BinaryExpression = "binary_expression",
    BreakStatement = "break_statement",
    CallExpression = "call_expression",
    CaseStatement = "case_statement",
    CastExpression = "cast_expression",
    CharLiteral = "char_literal",
    ClassSpecifier = "class_specifier",
    CommaExpression = "comma_expression",
    Comment = "comment",
    CompoundLiteralExpression = "compound_literal_expression",
    CompoundStatement = "compound_statement",
    ConditionClause = "condition_clause",
    ConditionalExpression = "conditional_expression",
    ContinueStatement = "continue_statement",
    Declaration = "declaration",
    DeclarationList = "declaration_list",
    Decltype = "decltype",
    DeleteExpression = "delete_expression",
    DoStatement = "do_statement",
    ElseClause = "else_clause",
    EnumSpecifier = "enum_specifier",
    Enumerator = "enumerator",
    ExpressionStatement = "expression_statement",
    False = "false",
    FieldDeclaration = "field_declaration",
    FieldDeclarationList = "field_declaration_list",
    FieldExpression = "field_expression",
    FieldIdentifier = "field_identifier",
    FieldInitializer = "field_initializer",
    ForRangeLoop = "for_range_loop",
    ForStatement = "for_statement",
    FunctionDeclarator = "function_declarator",
    FunctionDefinition = "function_definition",
    GnuAsmExpression = "gnu_asm_expression",
    GnuAsmOutputOperand = "gnu_asm_output_operand",
    GotoStatement = "goto_statement",
    Identifier = "identifier",
    IfStatement = "if_statement",
    InitDeclarator = "init_declarator",
    InitializerList = "initializer_list",
    InitializerPair = "initializer_pair",
    KernelCallSyntax = "kernel_call_syntax",
    LambdaDeclarator = "lambda_declarator",
    LambdaExpression = "lambda_expression",
    LaunchBounds = "launch_bounds",
    NewExpression = "new_expression",
    NumberLiteral = "number_literal",
    OptionalParameterDeclaration = "optional_parameter_declaration",
    ParameterDeclaration = "parameter_declaration",
    ParameterList = "parameter_list",
    ParenthesizedDeclarator = "parenthesized_declarator",
    ParenthesizedExpression = "parenthesized_expression",
    PlaceholderTypeSpecifier = "placeholder_type_specifier",
    PointerDeclarator = "pointer_declarator",
    PointerExpression = "pointer_expression",
    PreprocArg = "preproc_arg",
    PreprocCall = "preproc_call",
    PreprocDef = "preproc_def",
    PreprocFunctionDef = "preproc_function_def",
    PrimitiveType = "primitive_type",
    QualifiedIdentifier = "qualified_identifier",
    RawStringContent = "raw_string_content",
    ReferenceDeclarator = "reference_declarator",
    ReturnStatement = "return_statement",
    SizeofExpression = "sizeof_expression",
    StringContent = "string_content",
    StructSpecifier = "struct_specifier",
    SubscriptArgumentList = "subscript_argument_list",
    SubscriptExpression = "subscript_expression",
    SwitchStatement = "switch_statement",
    TemplateDeclaration = "template_declaration",
    TemplateFunction = "template_function",
    This = "this",
    ThrowStatement = "throw_statement",
    TranslationUnit = "translation_unit",
    True = "true",
    TypeDefinition = "type_definition",
    TypeDescriptor = "type_descriptor",
    TypeIdentifier = "type_identifier",
    UnaryExpression = "unary_expression",
    UnionSpecifier = "union_specifier",
    UpdateExpression = "update_expression",
    UsingDeclaration = "using_declaration",
    VariadicDeclarator = "variadic_declarator",
    VariadicParameterDeclaration = "variadic_parameter_declaration",
    WhileStatement = "while_statement",
}

impl Kind {
    /// The kind for the grammar's numeric ID of a node kind.
    pub(super) fn of_id(id: u16) -> Kind {
        static BY_ID: OnceLock<Vec<Kind>> = OnceLock::new();
        let known = BY_ID.get_or_init(|| (0..language().node_kind_count()).map(|id| Kind::find(id as u16)).collect());
        known.get(usize::from(id)).copied().unwrap_or(Kind::Other)
    }

    fn find(id: u16) -> Kind {
        let name = language().node_kind_for_id(id);
        if !language().node_kind_is_named(id) {
            return Kind::Token;
        }
        Kind::NAMED.iter().find(|(_, known)| Some(*known) == name).map_or(Kind::Other, |(kind, _)| *kind)
    }

    /// Whether the kind is a loop statement.
    pub fn is_loop(self) -> bool {
        matches!(self, Kind::ForStatement | Kind::WhileStatement | Kind::DoStatement | Kind::ForRangeLoop)
    }
}

macro_rules! fields {
    ($($variant:ident = $name:literal,)+) => {
        /// The role of a child in its parent: the grammar's field name.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Field {
            $(#[doc = concat!("`", $name, "`")] $variant,)+
        }

        impl Field {
            /// All fields with their name in the grammar.
            pub const ALL: &[(Field, &str)] = &[$((Field::$variant, $name)),+];
        }
    };
}

fields! {
    Alternative = "alternative",
    Argument = "argument",
    Arguments = "arguments",
    Body = "body",
    Captures = "captures",
    Condition = "condition",
    Consequence = "consequence",
    Declarator = "declarator",
    DefaultValue = "default_value",
    Field = "field",
    Function = "function",
    Indices = "indices",
    Initializer = "initializer",
    Left = "left",
    Name = "name",
    Operator = "operator",
    Parameters = "parameters",
    Right = "right",
    Size = "size",
    Type = "type",
    Update = "update",
    Value = "value",
}

impl Field {
    /// The grammar's numeric ID of the field.
    pub(super) fn id(self) -> u16 {
        static IDS: OnceLock<Vec<u16>> = OnceLock::new();
        let id = |name: &str| language().field_id_for_name(name).map_or(0, u16::from);
        let ids = IDS.get_or_init(|| Field::ALL.iter().map(|(_, name)| id(name)).collect());
        ids.get(self as usize).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grammar_has_all_kinds() {
        for (kind, name) in Kind::NAMED {
            let id = language().id_for_node_kind(name, true);
            assert_ne!(id, 0, "the grammar has no node `{name}`");
            assert_eq!(Kind::of_id(id), *kind, "`{name}` stands here twice");
        }
    }

    #[test]
    fn the_grammar_has_all_fields() {
        for (at, (field, name)) in Field::ALL.iter().enumerate() {
            assert_eq!(*field as usize, at);
            assert_ne!(field.id(), 0, "the grammar has no field `{name}`");
        }
    }

    #[test]
    fn other_nodes_have_no_kind_of_their_own() {
        assert_eq!(Kind::of_id(language().id_for_node_kind("+=", false)), Kind::Token);
        assert_eq!(Kind::of_id(language().id_for_node_kind("concept_definition", true)), Kind::Other);
        assert_eq!(Kind::of_id(u16::MAX), Kind::Other);
    }
}
