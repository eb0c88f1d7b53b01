import CommandKit
import LinkCore
import LinkJSON
import LinkSimulator
import LinkWire
import MessageStream

/// One run, told line by line.
struct SimulateStory {
  let call: Invocation
  let setup: Setup

  /// Tells it; returns what was found.
  func tell(_ plan: Plan) -> Outcome {
    let (console, isJSON) = (call.console, call[Shared.json])
    let outcome = Story.tell(
      plan, setup, as: StreamModel.self, isVerbose: call[SimulateParameters.isVerbose]
    ) { line in
      guard isJSON else {
        let text = line.text.printable
        return console.line(line.who == .judge ? console.style.alarm(text) : text)
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

  private func end(_ outcome: Outcome) {
    guard call[Shared.json] else {
      let kinds = outcome.kinds.map(\.rawValue).joined(separator: ", ")
      call.console.line("")
      return call.console.line(
        "seed \(outcome.seed), \(outcome.server.rawValue): "
          + "\(outcome.counts.accepted) accepted, \(outcome.counts.shown) shown, "
          + (kinds.isEmpty ? "nothing found" : "found: \(kinds)"))
    }
    call.console.object { writer in
      writer.key("event")
      writer.string("end")
      writer.key("seed")
      writer.int(outcome.seed)
      writer.key("server")
      writer.string(outcome.server.rawValue)
      writer.key("findings")
      SimulateText.write(outcome.findings, to: &writer)
      writer.key("digest")
      writer.string(String(outcome.digest, radix: 16))
    }
  }
}
