import Holdfast
import HoldfastCommandKit
import HoldfastCommandParts
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastHealthSamples
import HoldfastJSON
import HoldfastPorts

/// The command `holdfast health show`: shows the stored samples.
enum HealthShowCommand {
  private static let type = Parameter.optional(
    "type", .text("TYPE"), usual: "a summary of all types",
    "list the samples of this type, such as StepCount")
  private static let from = Parameter.option(
    "from", .day, default: Timestamp(nanoseconds: 31_536_000_000_000_000),
    "omit samples that end before this day (UTC)")
  private static let limit = Parameter.option(
    "limit", .integer("N", 1...1_000_000), default: 50,
    "the maximum number of samples to show, earliest first")
  private static let values = Parameter<Bool>.flag("values", "also show the values")

  static var command: Command {
    Command(
      "show", "show the stored health samples",
      details: [
        """
        Without --type it prints one line per type: the number of samples and their first and last \
        day. Values are shown only with --values. With --json each type is one object: event \
        "type", type, count, first, last; and each sample: event "sample", type, start, end, \
        source, zone, and with --values also value and unit.
        """
      ],
      examples: [
        .init("holdfast health show", "the number of samples of each type"),
        .init(
          "holdfast health show --type HeartRate --from 2026-01-01 --values",
          "the heart rate readings of a year"),
      ],
      takes: Shared.writtenData, type, from, limit, values, Shared.json, action: run)
  }

  private static func run(_ call: Invocation) async throws(CommandFailure) {
    let directory = try call.dataDirectory()
    let (store, summary) = try await CommandFailure.catching { () throws(StoreFailure) in
      let store = try await HoldfastPlatform.healthStore(in: directory, forReading: true)
      return (store, try await store.summary())
    }
    guard let name = call[type] else { return show(summary, call) }
    let query = HealthSampleQuery(
      types: try HealthCommands.types(named: name, among: summary), from: call[from],
      to: Timestamp(nanoseconds: .max), limit: call[limit])
    try await CommandFailure.catching { () throws(StoreFailure) in
      let page = try await store.samples(query)
      for sample in page.samples { show(sample, call) }
      if page.next != nil {
        call.diagnostic("there are more samples; --limit shows more, --from shows later ones")
      }
    }
    await store.close()
  }

  private static func show(_ summary: [HealthTypeSummary], _ call: Invocation) {
    guard !call[Shared.json] else {
      for type in summary {
        call.console.object {
          $0.entry("event", "type")
          $0.entry("type", type.type)
          if let count = type.count { $0.entry("count", count) }
          $0.entry("first", RFC3339.format(type.first))
          $0.entry("last", RFC3339.format(type.last))
        }
      }
      return
    }
    var table = Table("type", "samples", "first", "last")
    for type in summary {
      table.row(
        HealthCommands.short(type.type), type.count.map { "\($0)" } ?? "-",
        HealthCommands.day(type.first),
        HealthCommands.day(type.last))
    }
    call.console.table(table)
  }

  private static func show(_ sample: HealthSample, _ call: Invocation) {
    guard !call[Shared.json] else {
      call.console.object {
        $0.entry("event", "sample")
        $0.entry("type", sample.type)
        $0.entry("start", RFC3339.format(sample.start))
        $0.entry("end", RFC3339.format(sample.end))
        $0.entry("source", sample.source)
        if let zone = sample.zone { $0.entry("zone", zone) }
        guard call[values] else { return }
        write(sample.value, to: &$0)
        if let unit = sample.unit { $0.entry("unit", unit) }
      }
      return
    }
    let span =
      sample.start == sample.end
      ? RFC3339.format(sample.start)
      : "\(RFC3339.format(sample.start)) to \(RFC3339.format(sample.end))"
    let value = call[values] ? "  \(text(sample.value)) \(sample.unit ?? "")" : ""
    call.console.line("\(span)  \(sample.source)\(value)")
  }

  private static func write(_ value: HealthSampleValue, to writer: inout JSONWriter) {
    switch value {
    case .quantity(let quantity):
      writer.entry("value", quantity)
    case .category(let name): writer.entry("value", name)
    case .workout(let workout):
      let amounts = [
        ("seconds", workout.duration.map { $0 / .seconds(1) }), ("metres", workout.distance),
        ("kilocalories", workout.energy), ("steps", workout.steps),
      ]
      writer.object("value") {
        $0.entry("activity", workout.activity)
        for case (let name, let amount?) in amounts { $0.entry(name, amount) }
      }
    }
  }

  private static func text(_ value: HealthSampleValue) -> String {
    switch value {
    case .quantity(let quantity): "\(quantity)"
    case .category(let name): name
    case .workout(let workout): workout.activity
    }
  }
}
