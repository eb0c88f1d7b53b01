import HoldfastCommandKit
import HoldfastCore
import HoldfastJSON
import HoldfastLinkChecks
import HoldfastWorlds

/// The formatting of numbers, runs and findings.
enum SimulateFormat {
  /// Returns a number with commas between thousands.
  static func grouped(_ number: Int) -> String {
    let digits = Array(String(number.magnitude))
    let grouped = digits.indices.map { index in
      index > 0 && (digits.count - index).isMultiple(of: 3)
        ? ",\(digits[index])" : "\(digits[index])"
    }
    return (number < 0 ? "-" : "") + grouped.joined()
  }

  /// Returns a number with one decimal.
  static func short(_ number: Double) -> String {
    let tenths = Int((number * 10).rounded())
    return "\(tenths / 10).\(tenths % 10)"
  }

  /// Returns the title of a run: its seed and, if the feature has a choice of servers, its server.
  static func title<Feature>(_ outcome: RunOutcome<Feature>) -> String {
    title(outcome.seed, outcome.server)
  }

  /// Returns the title of a plan: its seed and, if the feature has a choice of servers, its server.
  static func title<Feature>(_ plan: WorldPlan<Feature>) -> String {
    title(plan.seed, plan.server)
  }

  private static func title<Server: ServerChoice>(_ seed: UInt64, _ server: Server) -> String {
    Server.isChoice ? "seed \(seed), \(server.rawValue)" : "seed \(seed)"
  }

  /// Writes the members that identify a run, and its findings.
  static func write<Feature>(_ outcome: RunOutcome<Feature>, to writer: inout JSONWriter) {
    writer.key("seed")
    writer.int(outcome.seed)
    if Feature.Server.isChoice {
      writer.key("server")
      writer.string(outcome.server.rawValue)
    }
    writer.key("findings")
    write(outcome.findings, to: &writer)
  }

  /// Writes the findings that the plan expects but that are missing.
  static func write(missing kinds: [Finding.Kind], to writer: inout JSONWriter) {
    writer.key("missing")
    writer.beginArray()
    for kind in kinds { writer.string(kind.rawValue) }
    writer.endArray()
  }

  /// Returns a line that names the missing findings; `nil` if none are missing.
  static func line(missing kinds: [Finding.Kind]) -> String? {
    guard !kinds.isEmpty else { return nil }
    let names = kinds.map(\.rawValue).joined(separator: ", ")
    return "the plan expected \(names), which \(kinds.count == 1 ? "was" : "were") not found"
  }

  static func write(_ findings: [Finding], to writer: inout JSONWriter) {
    writer.beginArray()
    for finding in findings {
      writer.beginObject()
      writer.key("kind")
      writer.string(finding.kind.rawValue)
      writer.key("at")
      writer.double(Double(finding.at.nanoseconds / 1_000_000) / 1000)
      writer.key("detail")
      writer.string(finding.detail)
      writer.endObject()
    }
    writer.endArray()
  }
}
