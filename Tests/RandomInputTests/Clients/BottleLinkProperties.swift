@testable import BottleLink
import LinkCore
import LinkWire

/// What the link to a bottle was told and has asked for in one run.
struct BottleBooks {
  private(set) var isScanning = false
  /// Connections that were asked for and are not over.
  private(set) var connects: Set<AttemptID> = []
  private(set) var requests: Set<UInt64> = []
  private(set) var lastDrink: UInt64 = 0

  /// The books after a step.
  func after(_ step: MachineStep<BottleModel>) -> BottleBooks {
    var books = self
    books.note(step)
    return books
  }

  mutating func note(_ step: MachineStep<BottleModel>) {
    switch step.input {
    case .refresh(let id), .perform(let id, _): requests.insert(id)
    case .central(.failed(let attempt, _)), .central(.disconnected(let attempt, _)):
      connects.remove(attempt)
    case .start, .stop, .hold, .choose, .shown, .link, .central, .discovered, .undiscovered,
      .heard, .written, .unwritten, .restored, .committed, .uncommitted, nil:
      break
    }
    for effect in step.effects {
      switch effect {
      case .scan: isScanning = true
      case .stopScan: isScanning = false
      case .connect(let attempt, _, _): connects.insert(attempt)
      case .cancel(let attempt): connects.remove(attempt)
      case .update(.refreshed(let id, _)), .update(.performed(let id, _)): requests.remove(id)
      case .update(.drink(let drink)): lastDrink = drink.number
      case .discover, .write, .commit, .confirm, .update: continue
      }
    }
  }
}

// What the link to a bottle promises of each step.
extension BottleLinkInputs {
  static let properties: [MachineProperty<BottleLinkInputs>] = [
    MachineProperty("each request is answered or waits") { generator, step in
      generator.books.after(step).requests == Set(step.after.requests.entries.map(\.id))
    },
    MachineProperty("a chunk is acknowledged only when it was stored") { _, step in
      guard step.hasAcknowledgement else { return true }
      if case .committed? = step.input { return true }
      return false
    },
    MachineProperty("each drink is shown once, in order") { generator, step in
      let numbers = [generator.books.lastDrink] + step.drinks
      return zip(numbers, numbers.dropFirst()).allSatisfy { $0 < $1 }
    },
    MachineProperty("it scans exactly while it says so") { generator, step in
      generator.books.after(step).isScanning == step.after.isScanning
        && step.effects.allSatisfy { effect in
          switch effect {
          case .scan: !generator.books.isScanning
          case .stopScan: generator.books.isScanning
          case .connect, .cancel, .discover, .write, .commit, .confirm, .update: true
          }
        }
    },
    MachineProperty("nothing is outstanding with the system after a stop") { generator, step in
      guard step.after.isStopped else { return true }
      return !step.after.isScanning && generator.books.after(step).connects.isEmpty
    },
    MachineProperty("only the present connection is written to") { _, step in
      let present = [step.before.connection?.attempt, step.after.connection?.attempt]
      return step.effects.allSatisfy { effect in
        if case .write(let attempt, _, _, _) = effect { present.contains(attempt) } else { true }
      }
    },
  ]
}

extension MachineStep<BottleModel> {
  fileprivate var drinks: [UInt64] {
    effects.compactMap { effect in
      if case .update(.drink(let drink)) = effect { drink.number } else { nil }
    }
  }

  fileprivate var hasAcknowledgement: Bool {
    effects.contains { effect in
      guard case .write(_, _, .syncControl, let bytes) = effect else { return false }
      return bytes == BottleSync.acknowledgement.bytes
    }
  }
}
