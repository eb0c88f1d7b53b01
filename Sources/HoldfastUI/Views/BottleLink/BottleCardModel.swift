import Foundation
import HoldfastBottleLink
import HoldfastWire

/// What the card of a bottle needs of its model.
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
