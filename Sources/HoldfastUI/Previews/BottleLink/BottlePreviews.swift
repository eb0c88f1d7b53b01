#if canImport(SwiftUI)
  import Foundation
  import Holdfast
  import HoldfastBottleLink
  import HoldfastCore
  import SwiftUI

  extension DrinkRow {
    /// Two drinks and a refill.
    static let samples: [DrinkRow] = [
      .sample(1, 180, minute: 480), .sample(2, 90, minute: 555), .sample(3, -450, minute: 560),
    ]
  }

  struct BottleCard_Previews: PreviewProvider {
    static var previews: some View {
      card(.sample(.connected, [.connection]))
      card(.sample(.disconnected, [.queuedConnect]))
      card(.sample(.disconnected, [.timer]), retryAt: .now + 20)
      card(.sample(.scanning, [.scan]))
      card(.sample(.disconnected, [.adapter], adapter: .off))
      card(.sample(.disconnected, [.adapter], adapter: .unauthorised))
      BottleCard(.preview(status: .sample(.disconnected, [.queuedScan]))).padding()
    }

    private static func card(_ status: BottleStatus, retryAt: Date? = nil) -> some View {
      let bottle = BottleDrinks.preview(
        DrinkRow.samples, state: .sample(total: 270, minute: 560), status: status,
        retryAt: retryAt)
      return BottleCard(bottle, openSettings: {}).padding()
    }
  }
#endif
