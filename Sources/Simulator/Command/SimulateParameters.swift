import HoldfastCommandKit
import HoldfastCore
import HoldfastLinkChecks
import HoldfastSimulator
import HoldfastWorlds

/// The parameters of `simulate WORLD`.
enum SimulateParameters {
  static func server<Server: ServerChoice>(_ kind: Server.Type) -> Parameter<Server?> {
    .optional(
      "server", Format<Server>.choice("SERVER"), usual: "each of them",
      "the contract that the server implements")
  }

  static func preset(_ presets: [DayPreset]) -> Parameter<Days?> {
    .optional(
      "preset", .days(presets), usual: "swarm",
      "what kind of days the seeds draw; swarm draws from everything, all gives every second seed "
        + "to swarm and the others to the rest in turn")
  }

  static let seeds = Parameter.optional(
    "seeds", .seeds, usual: "1..1000", "the seeds to play, each against every server")

  static func policy(_ policy: LinkPolicy) -> Parameter<String?> {
    .optional(
      "policy", .text("NAME|FILE"), usual: policy.name,
      "a preset of `holdfast policy list`, or a file as `holdfast policy check` reads it")
  }

  static func defect<Defect: DeliberateDefect>(
    _ kind: Defect.Type
  ) -> Parameter<Defects<Defect>?> {
    .optional(
      "break", Format<Defects<Defect>>.defects(), usual: "no defect",
      "switch a deliberate defect on; all proves that each one is caught")
  }

  static let jobs = Parameter.option(
    "jobs", .integer("N", 1...256), default: SimulationCores.count,
    "the number of runs at the same time; it does not change the result")

  static let runLimit = Parameter.option(
    "run-limit", .duration(.milliseconds(100) ... .seconds(86_400)), default: .seconds(600),
    "end with a failure that names the seed when one run takes longer")

  static let trace = Parameter.flag("trace", "print the trace of one seed, line by line")
  static let isVerbose = Parameter.flag("verbose", "include every line in the trace")

  static let shrink = Parameter.flag(
    "shrink", "shrink the first failing plan, print its trace, and write it to a file")

  static let usualCorpus = "KIND-SERVER-SEED.json"
  static let corpus = Parameter.optional(
    "corpus", .text("FILE"), usual: usualCorpus, "where --shrink writes the plan")

  static let html = Parameter.optional(
    "html", .text("FILE"),
    "write a page that shows a run: that of the only seed, else the first run that failed")
  static let traceFile = Parameter.optional(
    "trace-file", .text("FILE"),
    "write the trace of the same run for programs; of several phones, one file each")

  static let htmlFolder = Parameter.optional(
    "html", .text("FOLDER"), usual: "no page",
    "write a page of the first failed run of each world into a folder")

  static let plan = Parameter.optional(
    "plan", .text("FILE"), "play the plan in a file that --shrink wrote, and no seeds")
}

/// The preset or presets from which the seeds of a call draw plans.
enum Days: Sendable, Hashable {
  case one(DayPreset)
  /// The swarm preset for even seeds, and the other presets in turn for odd seeds.
  case all

  func preset(of seed: UInt64, among presets: [DayPreset]) -> DayPreset {
    switch self {
    case .one(let preset): return preset
    case .all:
      let others = presets.filter { $0 != .swarm }
      guard !others.isEmpty, seed % 2 == 1 else { return .swarm }
      return others[Int(seed / 2 % UInt64(others.count))]
    }
  }

  var name: String {
    switch self {
    case .one(let preset): preset.rawValue
    case .all: "all"
    }
  }
}

/// The enabled defects.
enum Defects<Defect: Sendable & Hashable>: Sendable, Hashable {
  case one(Defect)
  /// Each defect in turn.
  case all
}

extension Format<ClosedRange<UInt64>> {
  /// The format `N` or `FIRST..LAST`.
  static let seeds = Format(
    placeholder: "SEEDS",
    expectation: "a seed from 0 to \(UInt64.max), or the first and the last as 1..10000",
    note: "SEEDS is a whole number from 0 to \(UInt64.max), or two with .. between."
  ) { text in
    guard let dots = text.firstRange(of: "..") else { return UInt64(text).map { $0...$0 } }
    guard let first = UInt64(text[..<dots.lowerBound]),
      let last = UInt64(text[dots.upperBound...]), first <= last
    else { return nil }
    return first...last
  } write: {
    $0.lowerBound == $0.upperBound
      ? "\($0.lowerBound)" : "\($0.lowerBound)..\($0.upperBound)"
  }
}

extension Format<Days> {
  /// Returns the format for the name of a preset or `all`.
  static func days(_ presets: [DayPreset]) -> Format {
    let names = presets.map(\.rawValue) + ["all"]
    return Format(
      placeholder: "PRESET", expectation: "one of \(names.joined(separator: ", "))",
      note: "PRESET is one of \(names.joined(separator: ", ")).", choices: names
    ) { name in
      name == "all" ? .all : presets.first { $0.rawValue == name }.map { .one($0) }
    } write: {
      $0.name
    }
  }
}

extension Format {
  /// Returns the format for the name of a defect or `all`.
  static func defects<Defect>() -> Format
  where Value == Defects<Defect>, Defect: RawRepresentable<String> & CaseIterable & Sendable {
    let names = ["all"] + Defect.allCases.map(\.rawValue)
    let choice = names.count == 1 ? "all" : "one of \(names.joined(separator: ", "))"
    return Format(
      placeholder: "NAME", expectation: choice, note: "NAME is \(choice).", choices: names
    ) {
      $0 == "all" ? .all : Defect(rawValue: $0).map { .one($0) }
    } write: {
      switch $0 {
      case .one(let defect): defect.rawValue
      case .all: "all"
      }
    }
  }
}
