import CommandKit
import HoldfastTestKit
import LinkJSON
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
    var server: ServerKind
    var caught: Outcome?
  }

  /// Plays each defect until it is caught.
  ///
  /// - Throws: When one was not caught within its number of seeds.
  func run() async throws(CommandFailure) {
    var proofs: [Proof] = []
    for defect in Break.allCases {
      for server in request.simulation.servers where defect.catchable.contains(server) {
        let caught = await caught(defect, server)
        if Task.isCancelled { throw SimulateCommands.stopped }
        let proof = Proof(defect: defect, server: server, caught: caught)
        if call[Shared.json] { write(proof) }
        proofs.append(proof)
      }
    }
    if !call[Shared.json] { show(proofs) }
    let missed = proofs.filter { $0.caught == nil }
    guard missed.isEmpty else {
      throw CommandFailure(
        .failed,
        "not caught: "
          + missed.map { "\($0.defect.rawValue) (\($0.server.rawValue))" }.joined(separator: ", "))
    }
  }

  /// The first run in which a defect breaks what it should, and which is clean without it.
  private func caught(_ defect: Break, _ server: ServerKind) async -> Outcome? {
    let first = request.seeds.lowerBound
    var simulation = request.simulation
    simulation.servers = [server]
    simulation.setup.defect = defect
    let (policy, draw) = (simulation.setup.policy, simulation.draw)
    return await simulation.firstFailure(
      of: StreamModel.self, seeds: first...(first + UInt64(defect.seeds) - 1)
    ) { outcome in
      guard outcome.kinds.contains(where: defect.kinds.contains) else { return false }
      let plan = draw(outcome.seed, outcome.server)
      let control = play(plan, Setup(policy: policy), as: StreamModel.self)
      return control.kinds.allSatisfy { !defect.kinds.contains($0) }
    }
  }

  private func show(_ proofs: [Proof]) {
    var table = Table("DEFECT", "SERVER", "CAUGHT AS", "SEED", "ALLOWED")
    for proof in proofs {
      let kinds = proof.caught?.kinds.map(\.rawValue).joined(separator: ", ")
      table.row(
        proof.defect.rawValue, proof.server.rawValue, kinds ?? "not caught",
        proof.caught.map { "\($0.seed)" } ?? "-", "\(proof.defect.seeds) seeds")
    }
    for line in table.lines(call.console.style) { call.console.line(line) }
  }

  private func write(_ proof: Proof) {
    call.console.object { writer in
      writer.key("event")
      writer.string("break")
      writer.key("name")
      writer.string(proof.defect.rawValue)
      writer.key("server")
      writer.string(proof.server.rawValue)
      writer.key("caught")
      writer.bool(proof.caught != nil)
      guard let outcome = proof.caught else { return }
      writer.key("seed")
      writer.int(outcome.seed)
      writer.key("findings")
      SimulateText.write(outcome.findings, to: &writer)
    }
  }
}
