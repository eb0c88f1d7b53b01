public import Foundation
public import HoldfastBottleData
import HoldfastSocket

extension BottleDrink {
  /// The time of the drink, or the time at which it was stored if the bottle's clock was not set.
  public var date: Date { Date(record.timestamp ?? storedAt) }
}
