import HealthSync
import LinkCore
import LinkWire

// The phones' models beside their twins.
extension SyncWorld {
  mutating func stepped(
    _ input: SyncModel.Input?, _ effects: [SyncModel.Effect], at time: Instant, of phone: HostID
  ) {
    let model = clients[phone.index]
    if let stray = twins[phone.index].stray(of: model, after: input, effects, at: time) {
      note(.strayed(stray))
    }
  }

  static var walks: [Walk] {
    [SyncPhoneWalk.steps(200), SyncWireWalk.steps(1)]
  }
}

extension SyncTwin: Twin {
  static var name: String { "the phone" }

  func difference(from model: SyncModel, after input: SyncModel.Input?) -> String? {
    let (stands, mustStand) = (SyncGlance(model), glance)
    return stands == mustStand ? nil : "says that it is \(stands), not \(mustStand)"
  }
}

/// How a sync says that it stands.
struct SyncGlance: Equatable {
  var sending: [String]
  var pending: Int
  var parked: Int
  var isComplete: Bool
  var canWork: Bool
  var isStopped: Bool
  var standing: SyncStanding
}

extension SyncGlance {
  init(_ model: SyncModel) {
    self.init(
      sending: model.sending, pending: model.pending, parked: model.parked,
      isComplete: model.isComplete, canWork: model.canWork, isStopped: model.isStopped,
      standing: model.standing)
  }
}
