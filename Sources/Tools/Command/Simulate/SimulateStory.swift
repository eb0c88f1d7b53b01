import CommandKit
import LinkCore
import LinkJSON
import LinkSimulator

/// One run, told line by line.
struct SimulateStory<Feature: SimulatedFeature> {
  let call: Invocation
  let setup: RunSetup<Feature>

  /// Tells it; returns what was found.
  func tell(_ plan: WorldPlan<Feature>) -> RunOutcome<Feature> {
    let (console, isJSON) = (call.console, call[Shared.json])
    let outcome = Story<Feature>.tell(
      plan, setup, isVerbose: call[SimulateParameters.isVerbose]
    ) { line in
      guard isJSON else {
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
    end(outcome)
    return outcome
  }

  private func end(_ outcome: RunOutcome<Feature>) {
    guard call[Shared.json] else {
      let kinds = outcome.kinds.map(\.rawValue).joined(separator: ", ")
      let counted = Feature.Tally.allCases.map { "\(outcome.counts[$0]) \($0.rawValue)" }
      call.console.line("")
      return call.console.line(
        SimulateFormat.title(outcome) + ": " + (counted.map { "\($0), " }).joined()
          + (kinds.isEmpty ? "nothing found" : "found: \(kinds)"))
    }
    call.console.object { writer in
      writer.key("event")
      writer.string("end")
      SimulateFormat.write(outcome, to: &writer)
      writer.key("digest")
      writer.string(String(outcome.digest, radix: 16))
    }
  }
}
