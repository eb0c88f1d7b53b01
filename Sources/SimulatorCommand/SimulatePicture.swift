import HoldfastCommandKit
import HoldfastJSON
import HoldfastLinkTrace
import HoldfastOwnerFiles
import HoldfastSimulator
import HoldfastWorlds

/// The options `--html` and `--trace-file`: the page and the traces of one run.
struct SimulatePicture<Feature: TracedFeature> {
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

  /// Throws an error if a file cannot be written, so that no long run is played in vain.
  func check() throws(CommandFailure) {
    if let folder { try TextFile.mustBeWritable("\(folder)/\(Feature.name).html") }
    for (option, path) in [("--html", page), ("--trace-file", traces)] {
      guard let path else { continue }
      if path == "-" {
        throw CommandFailure(
          .usage, "\(option) cannot be standard output, where results are printed",
          remedy: "name a file")
      }
      try TextFile.mustBeWritable(path)
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
      call.diagnostic("no run failed, so there is nothing to draw; add --seeds N to draw a seed")
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
      try write(Array(PictureFile.text(of: texts).utf8), to: page, "the page of \(title)")
    }
    guard let traces else { return }
    for (phone, text) in texts.enumerated() {
      let isOnly = texts.count == 1
      try write(
        text, to: isOnly ? traces : Self.numbered(traces, phone),
        "the trace of \(title)" + (isOnly ? "" : ", phone \(phone),"))
    }
  }

  private func write(
    _ bytes: [UInt8], to path: String, _ what: String
  ) throws(CommandFailure) {
    do throws(OwnerFileError) {
      try OwnerFile(path, maxBytes: .max, isSecret: true).replace(with: bytes)
    } catch {
      throw CommandFailure(.failed, "\(path): \(error)")
    }
    request.watch.output.put {
      call.put("\(what) is in \(path)", event: "drawn") { $0.entry("file", path) }
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
