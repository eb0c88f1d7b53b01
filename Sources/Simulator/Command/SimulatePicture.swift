import HoldfastCommandKit
import HoldfastJSON
import HoldfastLinkChecks
import HoldfastLinkTrace
import HoldfastRunTraces
import HoldfastSimulator
import HoldfastWorlds

/// The options `--html` and `--trace-file`: the page and the traces of one run.
struct SimulatePicture<Feature: SimulatedFeature & TracedFeature> {
  let call: Invocation
  let request: SimulateRequest<Feature>
  /// The file of the page; `nil` for no page.
  var page: String?
  /// The file of the traces; `nil` for none.
  var traces: String?

  /// The folder of the page, in place of its file.
  private var folder: String?

  /// Creates the picture that the options of a call ask for.
  ///
  /// - Parameter isOfAll: Whether the call plays all worlds, and `--html` names a folder.
  init(call: Invocation, request: SimulateRequest<Feature>, isOfAll: Bool = false) {
    (self.call, self.request) = (call, request)
    if isOfAll {
      folder = call[SimulateParameters.htmlFolder]
    } else {
      page = call[SimulateParameters.html]
      traces = call[SimulateParameters.traceFile]
    }
  }

  /// Throws an error if a file cannot be written or would replace another file of the call, so that
  /// no long run is played in vain.
  ///
  /// - Parameter corpus: The file into which a shrunk plan will be written; `nil` if there is none,
  ///   or if its name is not known before the run.
  func check(corpus: String? = nil) throws(CommandFailure) {
    if let folder {
      return try PrivateOutput("\(folder)/\(Feature.name).html", option: "--html").check()
    }
    let policy = call[SimulateParameters.policy(Feature.policy)]
    var used = [corpus, call[SimulateParameters.plan], policy].compactMap(\.self)
    var outputs = [traces.map { PrivateOutput($0, option: "--trace-file") }]
    if let page {
      outputs.append(PrivateOutput(page, option: "--html"))
    } else if let corpus {
      outputs.append(PrivateOutput(Self.page(beside: corpus), option: "--corpus"))
    }
    for output in outputs.compactMap(\.self) {
      try output.check(isNoneOf: used)
      used.append(output.path)
    }
  }

  /// Draws the only run of a call, or else the first of the runs that failed.
  func draw(_ summary: RunSummary<Feature>) throws(CommandFailure) {
    if let folder {
      guard let failure = summary.failures.first else { return }
      var one = self
      one.page = Self.page(of: failure, in: folder)
      return try one.draw(request.plan(failure.seed, failure.server))
    }
    guard page != nil || traces != nil, !Task.isCancelled else { return }
    if request.runs == 1 {
      try draw(request.plan(request.seeds.lowerBound, request.simulation.servers[0]))
    } else if let failure = summary.failures.first {
      try draw(request.plan(failure.seed, failure.server))
    } else {
      call.diagnostic(
        "no run failed, so there is nothing to draw; add \(request.optionsForOneRun) to draw one run"
      )
    }
  }

  /// Plays a plan again, and writes what is wanted of it.
  ///
  /// The files have mode 0600, as files of traces of real runs have.
  func draw(_ plan: WorldPlan<Feature>) throws(CommandFailure) {
    guard page != nil || traces != nil, !Task.isCancelled else { return }
    let run = request.watched(plan) { SimulatedRun<Feature>(plan, request.simulation.setup) }
    let texts = run.traces.map(\.text)
    let title = SimulateFormat.title(plan)
    if let page {
      let output = PrivateOutput(page, option: "--html")
      try write(PictureFile.bytes(of: texts), to: output, "the page of \(title)")
    }
    guard let traces else { return }
    for (phone, text) in texts.enumerated() {
      let isOnly = texts.count == 1
      let output = PrivateOutput(
        isOnly ? traces : Self.numbered(traces, phone), option: "--trace-file")
      try write(
        text, to: output,
        "the trace of \(title)" + (isOnly ? "" : ", phone \(phone),"))
    }
  }

  private func write(
    _ bytes: [UInt8], to output: PrivateOutput, _ what: String
  ) throws(CommandFailure) {
    try output.write(bytes)
    request.watch.output.put {
      call.put("\(what) is in \(output.path)", event: "drawn") { $0.entry("file", output.path) }
    }
  }

  /// Returns a path with a number before its ending, such as `run-0.jsonl`.
  private static func numbered(_ path: String, _ number: Int) -> String {
    let name = path.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
    guard let dot = name.lastIndex(of: "."), dot > name.startIndex else {
      return "\(path)-\(number)"
    }
    return "\(path[..<dot])-\(number)\(path[dot...])"
  }

  /// Returns the path of a page beside a plan: with the ending `.html`.
  static func page(beside plan: String) -> String {
    (plan.hasSuffix(".json") ? String(plan.dropLast(5)) : plan) + ".html"
  }

  /// Returns the path of the page of a run in a folder, such as `message-stream-plain-7.html`.
  static func page(of outcome: RunOutcome<Feature>, in folder: String) -> String {
    let server = Feature.Server.isChoice ? "-\(outcome.server.rawValue)" : ""
    return "\(folder)/\(Feature.name)\(server)-\(outcome.seed).html"
  }
}
