//! Processor time per gas of the slowest programs that a search found, without and with work limits.
//!
//! ```text
//! cargo bench -p silica-benches --bench worst
//! cargo bench -p silica-benches --bench worst -- search SEED BUDGET [NAME]
//! cargo bench -p silica-benches --bench worst -- blocks [NAME]
//! ```
//!
//! The first command prints a table of the stored programs. The second command searches for slower shapes with `BUDGET`
//! changes. The third command fills a block with the slowest successful transaction of each kind, and a block with
//! payments. It prints the time to execute and to verify the block, and names the blocks that take more than a second.

use std::{env, time::Duration};

use silica_benches::{
    Random,
    worst::{
        FullBlock, LIMIT, Shape, Slowest, TEMPLATES, Template, block_of, block_of_payments, least_limit, search,
        slowest,
    },
};
use silica_scilla::rules::Rules;

/// Rules without work limits, and rules with work limits.
const RULES: [&str; 2] = ["0.13/2", "0.13/3"];

fn rules() -> [Rules; 2] {
    RULES.map(|text| text.parse().expect("the rules exist"))
}

/// Returns thousandths as a decimal number with two decimals.
fn hundredths(thousandths: u64) -> String {
    format!("{}.{:02}", thousandths / 1000, thousandths % 1000 / 10)
}

fn row(template: &Template) -> String {
    let [without, with] = rules();
    let name = template.name;
    let free = match slowest(template, template.shape, without) {
        Ok(Slowest { measured, .. }) => measured,
        Err(why) => return format!("| {name} | {why} |"),
    };
    let limited = least_limit(template, template.shape, with, if free.text_gas > 0 { LIMIT } else { free.gas() });
    let (outcome, failed) = match &limited {
        Ok(measured) if measured.receipt.success => ("succeeds", 0),
        Ok(measured) => ("fails", measured.beyond_per_gas()),
        Err(why) => (why.as_str(), 0),
    };
    let (times, longest) = match slowest(template, template.shape, with) {
        Ok(longest) => (longest.times, hundredths(longest.measured.beyond_per_gas())),
        Err(_) => (0, "-".into()),
    };
    format!(
        "| {name} | {} | {} | {} | {} | {outcome} | {} | {longest} (x{times}) |",
        free.gas(),
        if free.receipt.success {
            "yes".to_owned()
        } else {
            free.receipt.exceptions.first().map_or_else(String::new, |it| it.message.chars().take(40).collect())
        },
        hundredths(u64::try_from(free.time.as_micros()).unwrap_or(u64::MAX)),
        hundredths(free.per_gas()),
        hundredths(failed),
    )
}

/// Largest processor time to execute or to verify a block.
const GOAL: Duration = Duration::from_secs(1);

fn row_of_block(name: &str, block: Result<FullBlock, String>) -> String {
    let FullBlock { transactions, succeeded, gas, work, execute, verify } = match block {
        Ok(block) => block,
        Err(why) => return format!("| {name} | {why} |"),
    };
    let slow = if execute.processor > GOAL || verify.processor > GOAL { " **OVER 1 s**" } else { "" };
    let failed = match transactions.saturating_sub(succeeded) {
        0 => String::new(),
        failed => format!(" ({failed} fail)"),
    };
    let ms = |time: Duration| time.as_millis();
    format!(
        "| {name}{failed} | {transactions} | {gas} | {} | {} | {} | {} | {} |{slow}",
        work / 1_000_000,
        ms(execute.processor),
        ms(execute.wall),
        ms(verify.processor),
        ms(verify.wall)
    )
}

#[expect(clippy::print_stdout, reason = "it is what the program is for")]
fn print_blocks(name: &str) {
    let [_, limited] = rules();
    println!(
        "| program | transactions | gas | work, ms | execute: processor, ms | on the clock, ms | verify: processor, ms | on the clock, ms |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|--:|");
    if "payments".contains(name) {
        println!("{}", row_of_block("payments", block_of_payments(limited)));
    }
    for template in TEMPLATES.iter().filter(|template| template.name.contains(name)) {
        println!("{}", row_of_block(template.name, block_of(template, limited)));
    }
}

#[expect(clippy::print_stdout, reason = "it is what the program is for")]
fn main() {
    let arguments: Vec<String> = env::args().skip(1).filter(|argument| argument != "--bench").collect();
    if arguments.first().is_some_and(|argument| argument == "search") {
        let number = |at: usize| arguments.get(at).and_then(|text| text.parse().ok());
        let (seed, budget) = (number(1).unwrap_or(1), number(2).unwrap_or(20));
        let name = arguments.get(3).map_or("", String::as_str);
        println!("seed {seed}, {budget} changes of each kind, limit of {LIMIT} gas");
        for template in TEMPLATES.iter().filter(|template| template.name.contains(name)) {
            for (text, rules) in RULES.iter().zip(rules()) {
                let mut random = Random::new(seed);
                let budget = u32::try_from(budget).unwrap_or(u32::MAX);
                match search(template, rules, &mut random, budget) {
                    Ok(Slowest { shape: Shape { times, copies, size, depth }, measured, times: repeated }) => println!(
                        "{text} {:60} shape({times}, {copies}, {size}, {depth}) x{repeated} {} gas, {} us, {} us/gas",
                        template.name,
                        measured.gas(),
                        measured.time.as_micros(),
                        hundredths(measured.beyond_per_gas())
                    ),
                    Err(why) => println!("{text} {:60} {why}", template.name),
                }
            }
        }
        return;
    }
    if arguments.first().is_some_and(|argument| argument == "blocks") {
        return print_blocks(arguments.get(1).map_or("", String::as_str));
    }
    let name = arguments.first().map_or("", String::as_str);
    println!(
        "| program | gas | succeeds | ms | us per gas | with limits | us per gas when it fails | longest success |"
    );
    println!("|---|--:|---|--:|--:|---|--:|--:|");
    for template in TEMPLATES.iter().filter(|template| template.name.contains(name)) {
        println!("{}", row(template));
    }
}
