import HealthSync
import LinkCore
import LinkWire

// How a phone must say that it stands.
extension SyncTwin {
  /// What must be told of it beside its effects.
  var glance: SyncGlance {
    SyncGlance(
      sending: shelves.flatMap { $0.bundles.filter(\.isFlying).map(\.batch.file) },
      pending: shelves.reduce(0) { $0 + $1.bundles.count(where: \.isOpen) },
      parked: shelves.reduce(0) { $0 + $1.bundles.count { $0.batch.parked != nil } },
      isComplete: isComplete, canWork: canWork, isStopped: life == .gone, standing: standing)
  }

  private func isRead(_ shelf: Shelf) -> Bool {
    !shelf.isWanted
      || (shelf.work == .none && !shelf.isDueAgain && shelf.run > 0 && !shelf.isRunning)
  }

  private var isComplete: Bool {
    guard life == .lives, case .none = report else { return false }
    return isEmpty && shelves.allSatisfy { isRead($0) }
  }

  private var canWork: Bool {
    guard life == .lives else { return false }
    let isAtWork = shelves.contains { shelf in
      switch shelf.work {
      case .begins, .pauses: conditions.isUnlocked
      case .reads, .stores: true
      case .full: shelf.bundles.contains(where: \.isOpen)
      case .none: shelf.isDueAgain
      }
    }
    return isAtWork || !owed.isEmpty || (hasWaiting && isSendingAllowed)
  }

  private func isStuck(_ shelf: Shelf) -> Bool {
    shelf.troubles > 3 || (shelf.work == .full && !shelf.bundles.contains(where: \.isOpen))
  }

  private var standing: SyncStanding {
    if life == .unborn { return .working }
    if hasWaiting {
      if isSecretRefused { return .secretRefused }
      if let failure = backend.gaveUp { return .unreachable(failure) }
    }
    if diskFailures > 3, let diskFailure { return .unwritable(diskFailure) }
    if shelves.contains(where: { !isRead($0) && !isStuck($0) }) { return .working }
    if hasWaiting, let obstacle = gate.obstacle {
      switch obstacle {
      case .unreachable: return .unreachable(.unreachable(detail: "this device is offline"))
      case .captivePortal: return .unreachable(.captivePortal)
      case .background: return .unreachable(.local(detail: "the app is in background"))
      }
    }
    let open = shelves.filter { $0.bundles.contains(where: \.isOpen) }
    if let failure = open.first?.failure, !open.contains(where: { !$0.gaveUp }) {
      return .unreachable(failure)
    }
    guard isEmpty, case .none = report else { return .working }
    for case (true, let trouble?) in shelves.map({ (isStuck($0), $0.trouble) }) {
      switch trouble {
      case .source(let failure): return .unreadable(failure)
      case .disk(let failure): return .unwritable(failure)
      }
    }
    return .done(parked: shelves.reduce(0) { $0 + $1.bundles.count { $0.batch.parked != nil } })
  }
}
