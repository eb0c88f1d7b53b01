import HoldfastCommandKit
import HoldfastCore
import HoldfastJSON
import HoldfastLinkChecks
import HoldfastSimulator
import HoldfastWorlds

/// The trace of one run, printed line by line.
struct SimulateTrace<Feature: SimulatedFeature> {
  let call: Invocation
  let request: SimulateRequest<Feature>

  /// Plays a plan, printing its trace. Returns the outcome.
  func play(_ plan: WorldPlan<Feature>) -> RunOutcome<Feature> {
    var console = call.console
    let outcome = Trace<Feature>.play(
      plan, request.simulation.setup, isVerbose: call[SimulateParameters.isVerbose]
    ) { outcome in
      if !outcome.findings.isEmpty { console.endsWhenClosed = .failed }
    } listen: { line in
      request.watch.output.put { show(line, to: console) }
    }
    request.watch.output.put { end(outcome, on: console) }
    return outcome
  }

  private func show(_ line: TraceLine, to console: Console) {
    guard call[Shared.json] else {
      let text = line.text.printable
      return console.line(line.who == .checker ? console.style.alarm(text) : text)
    }
    console.object { writer in
      writer.key("event")
      writer.string("line")
      writer.key("at")
      writer.double(Double(line.at.nanoseconds / 1_000_000) / 1000)
      writer.key("who")
      writer.string(line.who.rawValue)
      writer.key("what")
      writer.string(line.what)
    }
  }

  private func end(_ outcome: RunOutcome<Feature>, on console: Console) {
    let missing = request.missing(outcome.kinds)
    guard call[Shared.json] else {
      let kinds = outcome.kinds.map(\.rawValue).joined(separator: ", ")
      let counted = Feature.Counter.allCases.map { "\(outcome.counts[$0]) \($0.rawValue)" }
      console.line("")
      console.line(
        SimulateFormat.title(outcome) + ": " + (counted.map { "\($0), " }).joined()
          + (kinds.isEmpty ? "nothing found" : "found: \(kinds)"))
      if let line = SimulateFormat.line(missing: missing ?? []) {
        console.line(console.style.alarm(line))
      }
      return
    }
    console.object { writer in
      writer.key("event")
      writer.string("end")
      SimulateFormat.write(outcome, to: &writer)
      if let missing { SimulateFormat.write(missing: missing, to: &writer) }
      writer.key("digest")
      writer.string(String(outcome.digest, radix: 16))
    }
  }
}
