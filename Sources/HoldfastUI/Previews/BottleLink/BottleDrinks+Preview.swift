public import Foundation
public import Holdfast
import HoldfastBottleLink

extension BottleDrinks {
  /// Returns a model for previews and for tests of an app's screens. It uses no radio, no disk and
  /// no clock. Its methods have no effect.
  ///
  /// - Parameters:
  ///   - drinks: The drinks, oldest first.
  ///   - state: The most recent state that the bottle reported.
  ///   - status: The status of the link.
  ///   - retryAt: The time at which the next attempt begins.
  ///   - notice: The most recent problem.
  ///   - phase: Whether the drinks are open.
  public static func preview(
    _ drinks: [DrinkRow] = [], state: BottleUpdate.State? = nil,
    status: BottleUpdate.Status = BottleUpdate.Status(), retryAt: Date? = nil,
    notice: BottleUpdate.Notice? = nil, phase: OpeningPhase = .open
  ) -> BottleDrinks {
    let model = BottleDrinks(Opening(previewing: phase), Dates(clock: PreviewClock()))
    (model.drinks, model.state) = (drinks, state)
    (model.status, model.retryAt, model.notice) = (status, retryAt, notice)
    return model
  }
}
