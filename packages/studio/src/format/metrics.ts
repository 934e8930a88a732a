// The metrics of the node, in the text format of OpenMetrics.

export interface Metric {
  name: string;
  help: string;
  type: string;
  samples: Sample[];
}

export interface Sample {
  /** The name, with the suffix of the kind of sample, for example `_count`. */
  name: string;
  labels: Record<string, string>;
  value: number;
}

const sampleLine = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? ([^ ]+)/;
const label = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g;
const escapes: Record<string, string> = { "\\n": "\n", '\\"': '"', "\\\\": "\\" };

/** Parses a text of OpenMetrics. Returns null if the text has no sample. */
export function parseMetrics(text: string): Metric[] | null {
  const metrics = new Map<string, Metric>();
  const metricOf = (name: string): Metric => {
    let metric = metrics.get(name);
    if (!metric) metrics.set(name, (metric = { name, help: "", type: "unknown", samples: [] }));
    return metric;
  };
  let count = 0;
  for (const line of text.split("\n")) {
    const meta = /^# (HELP|TYPE) (\S+) ?(.*)$/.exec(line);
    if (meta) {
      const metric = metricOf(meta[2]!);
      if (meta[1] === "HELP") metric.help = meta[3]!;
      else metric.type = meta[3]!;
      continue;
    }
    const sample = line.startsWith("#") ? null : sampleLine.exec(line);
    if (!sample) continue;
    const [, name = "", labels = "", value = ""] = sample;
    const parsed = Number(value.replace("+Inf", "Infinity"));
    if (Number.isNaN(parsed)) continue;
    count += 1;
    const found = [...labels.matchAll(label)].map(([, key, text]): [string, string] => [key!, text!.replaceAll(/\\./g, (escape) => escapes[escape] ?? escape)]);
    const family = metrics.has(name) ? name : name.replace(/_(?:total|count|sum|bucket|info|created)$/, "");
    metricOf(family).samples.push({ name, labels: Object.fromEntries(found), value: parsed });
  }
  return count ? [...metrics.values()] : null;
}

/** The number of observations of a histogram, and their mean. */
export interface Summary {
  labels: string;
  count: number;
  mean: number;
}

/** Returns the summaries of a histogram, one for each set of labels. */
export function summaries(metric: Metric): Summary[] {
  const found = new Map<string, { count: number; sum: number }>();
  for (const { name, labels, value } of metric.samples) {
    const key = formatLabels(labels);
    if (name !== `${metric.name}_count` && name !== `${metric.name}_sum`) continue;
    const entry = found.get(key) ?? { count: 0, sum: 0 };
    if (name.endsWith("_count")) entry.count = value;
    else entry.sum = value;
    found.set(key, entry);
  }
  return [...found].map(([labels, { count, sum }]) => ({ labels, count, mean: count ? sum / count : 0 }));
}

export const formatLabels = (labels: Record<string, string>): string =>
  Object.entries(labels)
    .map(([name, value]) => `${name} ${value}`)
    .join(", ");
