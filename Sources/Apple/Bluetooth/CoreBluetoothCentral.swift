#if canImport(CoreBluetooth)
  import CoreBluetooth
  public import HoldfastCore
  public import HoldfastFeaturePorts
  public import HoldfastPorts
  public import HoldfastBottleData

  /// A central that uses the radio of this device through Core Bluetooth. `BluetoothRadio` receives
  /// the callbacks.
  ///
  /// Create it before the launch of the app ends. The system then delivers the peripherals that it
  /// kept while the app was not running. Events wait until `events` is called. Use one central for
  /// the whole process, also after a sign-out: `events` opens a central again that was closed.
  ///
  /// A queued connect stays with the system while the app is suspended. It also stays when the
  /// system ends the app, if the central has a restoration identifier and the app has the background
  /// mode `bluetooth-central`. Apps need `NSBluetoothAlwaysUsageDescription` in their `Info.plist`.
  public final class CoreBluetoothCentral: Central {
    /// The alerts that the system shows for a peripheral while the app is suspended.
    ///
    /// They concern apps without the background mode `bluetooth-central`. With this mode, the system
    /// runs the app instead of showing an alert.
    public struct Alerts: OptionSet, Sendable, Hashable {
      /// The bits of the set.
      public let rawValue: UInt8

      /// Creates a set from its bits.
      public init(rawValue: UInt8) { self.rawValue = rawValue }

      /// A peripheral connected.
      public static let connection = Alerts(rawValue: 1)
      /// A peripheral disconnected.
      public static let disconnection = Alerts(rawValue: 2)
      /// A peripheral sent a value as a notification.
      public static let notification = Alerts(rawValue: 4)
    }

    let radio: BluetoothRadio

    /// Creates a central. The system asks the user for permission at the first one.
    ///
    /// - Parameters:
    ///   - restoration: The identifier under which the system keeps connections and connects when
    ///     it ends the app. It must be the same in each launch, and different for each central of
    ///     the app. If it is `nil`, the system keeps nothing.
    ///   - alerts: The alerts that the system shows for the app.
    ///   - clock: The clock that measures the delays of connects.
    public init(
      restoration: String? = nil, alerts: Alerts = [], clock: any LinkClock = BootClock()
    ) {
      radio = BluetoothRadio(restoration: restoration, alerts: alerts, clock: clock)
    }

    public func events(_ deliver: @escaping @Sendable (CentralEvent) -> Void) {
      radio.run { $0.begin(deliver) }
    }

    public func scan(for services: [GATTID]) { radio.run { $0.scan(services) } }

    /// Stops the scan.
    public func stopScan() { radio.run { $0.scan(nil) } }

    public func connect(
      _ id: PeripheralID, attempt: AttemptID, isQueued: Bool, after rest: Duration
    ) {
      radio.run { $0.connect(id, attempt: attempt, isQueued: isQueued, after: rest) }
    }

    public func cancel(_ attempt: AttemptID) { radio.run { $0.cancel(attempt) } }

    public func discover(
      _ service: GATTID, _ characteristics: [GATTID], of attempt: AttemptID
    ) async throws(LinkFailure) {
      _ = try await result(of: .discover(service, characteristics), attempt)
    }

    public func notify(_ characteristic: GATTID, of attempt: AttemptID) async throws(LinkFailure) {
      _ = try await result(of: .notify(characteristic), attempt)
    }

    public func read(
      _ characteristic: GATTID, of attempt: AttemptID
    ) async throws(LinkFailure) -> [UInt8] {
      try await result(of: .read(characteristic), attempt)
    }

    public func write(
      _ bytes: [UInt8], to characteristic: GATTID, of attempt: AttemptID
    ) async throws(LinkFailure) {
      _ = try await result(of: .write(characteristic, bytes), attempt)
    }

    public func longestValue(of attempt: AttemptID) async -> Int {
      await withCheckedContinuation { done in
        radio.run { done.resume(returning: $0.longestValue(of: attempt)) }
      }
    }

    public func close() async {
      await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
        radio.run {
          $0.close()
          done.resume()
        }
      }
    }

    private func result(
      of work: BluetoothRadio.Work, _ attempt: AttemptID
    ) async throws(LinkFailure) -> [UInt8] {
      let result = await withCheckedContinuation {
        (done: CheckedContinuation<Result<[UInt8], LinkFailure>, Never>) in
        radio.run { $0.request(work, of: attempt) { done.resume(returning: $0) } }
      }
      return try result.get()
    }
  }
#endif
