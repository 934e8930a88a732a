//! `silica deploy`: a contract or a library from its source.

use std::{path::PathBuf, sync::Arc};

use clap::Args;
use serde_json::{Value, json};
use silica_protocol::{Address, Qa};
use silica_scilla::resolve::Origin;

use super::{
    Answer,
    amount::parse_amount,
    argument::Assignment,
    error::ClientError,
    order::{Order, OrderArgs, Terms, carry_out},
    params::{ParamArgs, Params, read_text},
    program::{Interface, Libraries, read_init_data},
};

/// Arguments of `silica deploy`.
#[derive(Clone, Debug, Args)]
pub(crate) struct DeployArgs {
    /// Source file of a contract (.scilla) or a library (.scillib). The command checks the source before it sends the
    /// transaction.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Init parameters. The command adds the version of the language.
    #[command(flatten)]
    pub params: ParamArgs,
    /// A library that the source imports, and its address. Repeat the option for each library. On a chain with the
    /// Scilla rules `latest`, the name is NAME.scillib.
    #[arg(long, value_name = "NAME=ADDRESS", value_parser = Assignment::of_library)]
    pub library: Vec<Assignment>,
    /// Amount for the contract, in ZIL or with its unit.
    #[arg(long, value_name = "AMOUNT", default_value = "0", value_parser = parse_amount)]
    pub amount: Qa,
    /// Options of the transaction.
    #[command(flatten)]
    pub order: OrderArgs,
}

/// The source file of a contract or library, and the libraries that the source imports.
struct Deployment {
    file: String,
    code: String,
    is_library: bool,
    origin: Origin,
    libraries: Libraries,
}

/// Deploys a contract or a library.
pub(super) async fn deploy(args: &DeployArgs) -> Result<Answer, ClientError> {
    let key = args.order.key.read()?;
    let params = args.params.read()?;
    let deployment = Deployment::read(args).await?;
    // The command reports faults of the source and of the parameters before it sends the next request.
    let data = deployment.init_data(params)?;
    let terms = Terms::find(&args.order, &key).await?;
    let order = Order { to: Address::ZERO, amount: args.amount, code: deployment.code, data };
    carry_out(&args.order, &key, terms, order).await
}

impl Deployment {
    async fn read(args: &DeployArgs) -> Result<Self, ClientError> {
        let code = read_text("FILE", &args.file)?;
        let libraries = args.library.iter().map(library).collect::<Result<_, _>>()?;
        let origin = Origin { libraries, ..Origin::default() };
        let libraries = Libraries::fetch(&args.order.node.rpc(), &origin).await?;
        let is_library = args.file.extension().is_some_and(|extension| extension == "scillib");
        Ok(Self { file: args.file.display().to_string(), code, is_library, origin, libraries })
    }

    /// Checks the source, and returns the init data as JSON text.
    fn init_data(&self, params: Params) -> Result<String, ClientError> {
        let Self { file, code, is_library, origin, libraries } = self;
        let check = if *is_library { Interface::of_library } else { Interface::of_contract };
        let interface = check(file, code.as_bytes(), origin, libraries)?;
        let mut init = params.typed(&interface.parameters, &interface.data_types)?;
        let mut add = |name: &str, kind: &str, value: Value| {
            if init.iter().all(|param| param["vname"] != name) {
                init.push(json!({ "vname": name, "type": kind, "value": value }));
            }
        };
        add("_scilla_version", "Uint32", "0".into());
        if *is_library {
            add("_library", "Bool", json!({ "constructor": "True", "argtypes": [], "arguments": [] }));
        }
        if !origin.libraries.is_empty() {
            let pair = |(name, address): (&Arc<str>, &Arc<str>)| json!({ "constructor": "Pair", "argtypes": ["String", "ByStr20"], "arguments": [&**name, &**address] });
            add("_extlibs", "List (Pair (String) (ByStr20))", origin.libraries.iter().map(pair).collect());
        }
        let init = Value::from(init).to_string();
        // The node reads the init data before it checks the contract. Therefore the init data cannot have values of
        // types that the contract defines or imports.
        read_init_data(&init)
            .map_err(|reason| ClientError::Contract(format!("the init data are rejected: {reason}")))?;
        Ok(init)
    }
}

/// Returns the name and the address of a library.
fn library(assignment: &Assignment) -> Result<(Arc<str>, Arc<str>), ClientError> {
    let address = assignment.address().map_err(|error| {
        ClientError::argument("--library", format!("NAME=ADDRESS: {error}"), assignment.to_string())
    })?;
    Ok((assignment.name().into(), format!("0x{address}").into()))
}
