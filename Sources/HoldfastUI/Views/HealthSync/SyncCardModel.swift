import Foundation
import Holdfast
import HoldfastFeaturePorts
import HoldfastHealthSync
import HoldfastWire

/// The part of a model that the card of a sync uses.
@MainActor protocol SyncCardModel: AnyObject, Sendable {
  var types: [SyncTypeRow] { get }
  var quarantined: [SyncBatchReport] { get }
  var needsSignIn: Bool { get }
  var notice: SyncNotice? { get }
  var lastSync: Date? { get }
  var canAsk: Bool { get }
  var phase: OpeningPhase { get }

  func follow() async
  func retry()
  func retryNow()
  func ask() async throws(HealthSourceFailure)
}

extension SyncProgress: SyncCardModel {}
