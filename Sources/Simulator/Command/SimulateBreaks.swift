import HoldfastCommandKit
import HoldfastJSON
import HoldfastLinkChecks
import HoldfastSimulator
import HoldfastWorlds
import Synchronization

/// The option `--break all`: checks that each deliberate defect is caught.
struct SimulateBreaks<Feature: SimulatedFeature> {
  let call: Invocation
  let request: SimulateRequest<Feature>

  /// The result for one defect.
  private struct Proof: Sendable {
    var defect: Feature.Defect
    var server: Feature.Server
    var caught: RunOutcome<Feature>?

    var name: String {
      Feature.Server.isChoice ? "\(defect.rawValue) (\(server.rawValue))" : defect.rawValue
    }
  }

  /// The proofs so far. They are incomplete if the command is stopped.
  private final class Proofs: Sendable {
    private let all = Mutex<[Proof]>([])

    func add(_ proof: Proof) { all.withLock { $0.append(proof) } }
    var soFar: [Proof] { all.withLock { $0 } }
  }

  /// Plays each defect until it is caught.
  ///
  /// - Throws: `CommandFailure` if a defect is not caught within its number of seeds.
  func run() async throws(CommandFailure) {
    let (proofs, output) = (Proofs(), request.watch.output)
    let showProofs = { @Sendable in if !call[Shared.json] { show(proofs.soFar) } }
    output.begin(showProofs)
    for defect in Feature.Defect.allCases {
      for server in request.simulation.servers where defect.catchable.contains(server) {
        let caught = await request.simulation.proof(
          of: defect, against: server, from: request.seeds.lowerBound)
        guard !Task.isCancelled else {
          output.conclude(showProofs)
          throw SimulateCommands.stopped()
        }
        let proof = Proof(defect: defect, server: server, caught: caught)
        output.put {
          if call[Shared.json] { write(proof) }
          proofs.add(proof)
        }
      }
    }
    output.conclude(showProofs)
    let unseen = Feature.Defect.allCases.filter { $0.catchable.isEmpty }.map(\.rawValue)
    let missed = unseen + proofs.soFar.filter { $0.caught == nil }.map(\.name)
    guard missed.isEmpty else {
      throw CommandFailure(.failed, "not caught: " + missed.joined(separator: ", "))
    }
  }

  private func show(_ proofs: [Proof]) {
    let isChoice = Feature.Server.isChoice
    var table =
      isChoice
      ? Table("DEFECT", "SERVER", "CAUGHT AS", "SEED", "ALLOWED")
      : Table("DEFECT", "CAUGHT AS", "SEED", "ALLOWED")
    for proof in proofs {
      let kinds = proof.caught?.kinds.map(\.rawValue).joined(separator: ", ") ?? "not caught"
      let seed = proof.caught.map { "\($0.seed)" } ?? "-"
      let (name, allowed) = (proof.defect.rawValue, "\(proof.defect.seeds) seeds")
      if isChoice {
        table.row(name, proof.server.rawValue, kinds, seed, allowed)
      } else {
        table.row(name, kinds, seed, allowed)
      }
    }
    var console = call.console
    if proofs.contains(where: { $0.caught == nil }) { console.endsWhenClosed = .failed }
    for line in table.lines(console.style) { console.line(line) }
  }

  private func write(_ proof: Proof) {
    call.console.object { writer in
      writer.key("event")
      writer.string("break")
      writer.key("name")
      writer.string(proof.defect.rawValue)
      if Feature.Server.isChoice {
        writer.key("server")
        writer.string(proof.server.rawValue)
      }
      writer.key("caught")
      writer.bool(proof.caught != nil)
      guard let outcome = proof.caught else { return }
      writer.key("seed")
      writer.int(outcome.seed)
      writer.key("findings")
      SimulateFormat.write(outcome.findings, to: &writer)
    }
  }
}
