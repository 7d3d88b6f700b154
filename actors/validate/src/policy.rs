//! What haproxy.cfg may not hold unless the configuration allows it: commands, scripts, files of others.

use crate::{rendered_name, report::at_line};
use haptic_haproxy::{
    Document,
    views::{Bases, PrivilegedUses, privileged_uses},
};
use haptic_model::{Bundle, BundleFile, Diagnostic, crd::Allowance};

/// The Lua file of the built-in libraries, by the digest of its text: with the library ingress, and with the library gateway without it. It
/// holds no value of an object.
const OF_LIBRARIES: [&str; 2] = [
    "964f14cd92456f7d2dd2aa72550a5ba8bb0fc18c7e9d1700551240684568d5bc",
    "29685e4142c8b3190dd627beb5f13e24fbb78edb4f1f66000036b4c4f28ccd01",
];

/// Whether all that is needed is allowed. The path is that of a file, which may be the bundle's own: any of them, but of
/// programs those of the libraries only.
pub(crate) fn permits<'n>(
    needs: impl Iterator<Item = (Allowance, Option<&'n str>)>,
    bundle: &Bundle,
    allow: &[Allowance],
) -> bool {
    let mut needs = needs;
    needs.all(|(needs, path)| {
        let file = || path.and_then(|path| bundle.files.get(path));
        allow.contains(&needs) || file().is_some_and(|file| needs != Allowance::Lua || is_of_libraries(file))
    })
}

fn is_of_libraries(file: &BundleFile) -> bool {
    OF_LIBRARIES.contains(&file.digest.to_string().as_str())
}

/// A diagnostic for each line that needs what is not allowed.
pub(crate) fn problems(document: &Document<'_>, bundle: &Bundle, allow: &[Allowance]) -> Vec<Diagnostic> {
    let mut bases = Bases::default();
    bases.read(document);
    let found = privileged_uses(document, &bases).into_iter();
    let refused = found.filter(|found| {
        let path = found.is_file.then_some(&*found.word);
        !permits(std::iter::once((found.needs, path)), bundle, allow)
    });
    refused.map(|found| diagnostic(&found, bundle)).collect()
}

fn diagnostic(found: &PrivilegedUses, bundle: &Bundle) -> Diagnostic {
    let PrivilegedUses { needs, word, line, .. } = found;
    let why = match needs {
        Allowance::Lua => "runs a program within HAProxy",
        Allowance::ExternalChecks => "starts commands",
        Allowance::Insecure => "takes back what protects the pod from HAProxy",
        Allowance::OutsideFiles => "may show files that this configuration does not render",
        Allowance::HostNames => "needs a name server",
    };
    let allow = format!("add {needs:?} to spec.allow.features, if all who write these templates may do so");
    let help = match needs {
        Allowance::OutsideFiles if found.is_file => {
            format!("{}. For a file of the pod's own {allow}", rendered_name::instead_of(word, bundle))
        }
        _ => format!("Remove it, or {allow}"),
    };
    let diagnostic = Diagnostic::error("policy", format!("'{word}' {why}, and is not allowed")).help(help);
    at_line(diagnostic, &bundle.config, u32::try_from(*line).unwrap_or(u32::MAX))
}
