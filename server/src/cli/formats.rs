//! How results are printed.

use clap::ValueEnum;

/// For people or programs.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub enum SummaryOrJson {
    /// For people.
    #[default]
    Summary,
    /// For programs.
    Json,
}

/// How a validation's result is printed.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub enum ValidateOutput {
    /// For people.
    #[default]
    Summary,
    /// For programs.
    Json,
    /// For programs and people.
    Yaml,
    /// For CI systems.
    Junit,
}

/// A resource's format.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub enum YamlOrJson {
    /// As kubectl users write it.
    #[default]
    Yaml,
    /// For programs.
    Json,
}

/// A language of templates, as configurations name it.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub enum EngineName {
    /// Handlebars.
    #[default]
    Handlebars,
    /// Jinja2.
    Jinja2,
}

/// How the function table is printed.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub enum FunctionsOutput {
    /// For a terminal.
    #[default]
    Text,
    /// For programs.
    Json,
    /// For documentation.
    Markdown,
}
