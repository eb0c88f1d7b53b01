import CommandKit
import HoldfastTestKit
import LinkSimulator
import LinkWire
import MessageStream

/// `--break all`: each deliberate defect must be caught.
struct SimulateBreaks {
  let call: Invocation
  let request: SimulateRequest

  /// What became of one defect.
  private struct Proof {
    var defect: Break
    var caught: Outcome?
    var limit: UInt64
  }

  /// Plays each defect until it is caught.
  ///
  /// - Throws: When one was not caught within its number of seeds.
  func run() async throws(CommandFailure) {
    var proofs: [Proof] = []
    for defect in Break.allCases {
      var simulation = request.simulation
      simulation.setup.defect = defect
      let first = request.seeds.lowerBound
      let limit = UInt64(request.seeds.count)
      let caught = await simulation.firstFailure(
        of: StreamModel.self, seeds: first...(first + limit - 1))
      if Task.isCancelled { throw SimulateStreamCommand.stopped }
      let proof = Proof(defect: defect, caught: caught, limit: limit)
      if call[Shared.json] { write(proof) }
      proofs.append(proof)
    }
    if !call[Shared.json] { show(proofs) }
    let missed = proofs.filter { $0.caught == nil }
    guard missed.isEmpty else {
      throw CommandFailure(
        .failed, "not caught: " + missed.map(\.defect.rawValue).joined(separator: ", "))
    }
  }

  private func show(_ proofs: [Proof]) {
    var table = Table("DEFECT", "CAUGHT AS", "SEED", "SERVER", "WITHIN")
    for proof in proofs {
      let kinds = proof.caught?.kinds.map(\.rawValue).joined(separator: ", ")
      table.row(
        proof.defect.rawValue, kinds ?? "not caught", proof.caught.map { "\($0.seed)" } ?? "-",
        proof.caught?.server.rawValue ?? "-", "\(proof.limit) seeds")
    }
    for line in table.lines(call.console.style) { call.console.line(line) }
  }

  private func write(_ proof: Proof) {
    call.console.object { writer in
      writer.key("event")
      writer.string("break")
      writer.key("name")
      writer.string(proof.defect.rawValue)
      writer.key("caught")
      writer.bool(proof.caught != nil)
      guard let outcome = proof.caught else { return }
      writer.key("seed")
      writer.int(outcome.seed)
      writer.key("server")
      writer.string(outcome.server.rawValue)
      writer.key("findings")
      SimulateText.write(outcome.findings, to: &writer)
    }
  }
}
