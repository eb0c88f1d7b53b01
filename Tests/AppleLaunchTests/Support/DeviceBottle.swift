import HoldfastFirmware
import HoldfastTestKit
import HoldfastVirtualBottle

/// The use of a bottle by launches. Its clock stands, because no launch waits for its timers.
extension BottleHost {
  /// Brings the bottle into range and moves it, so that it advertises.
  func move() async {
    await system.on { system in
      self.device.isInRange = true
      self.handle(.world(.moved))
      system.look()
    }
  }

  /// Ends the app. The system keeps the connection, or a pending connect to a bottle out of range,
  /// or nothing.
  func keep(_ link: FakeDevice.Link) async {
    await system.on { system in
      switch link {
      case .connected: system.kill()
      case .pending:
        self.device.isInRange = false
        self.take(.disconnected)
        self.device.link = .pending
        system.kill()
      case .none: system.forceQuit()
      }
    }
  }
}
