import Foundation
import HoldfastBottleLink
import HoldfastWire

/// The part of a model that the card of a bottle uses.
@MainActor protocol BottleCardModel: AnyObject, Sendable {
  var drinks: [DrinkRow] { get }
  var state: BottleState? { get }
  var status: BottleStatus { get }
  var retryAt: Date? { get }
  var phase: OpeningPhase { get }

  func follow() async
  func retry()
  func refresh() async -> BottleRefreshResult?
  func reconnect()
}

extension BottleDrinks: BottleCardModel {}
