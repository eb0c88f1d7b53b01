import Holdfast
import HoldfastBlueZ
import HoldfastBottleData
import HoldfastCommandKit
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastRadioSocket

/// The radio that a command uses: this machine's Bluetooth adapter, or a Unix socket.
struct BottleRadio: Sendable {
  static let path = Parameter.optional(
    "radio", .text("PATH"), usual: "Bluetooth of this machine",
    "the Unix socket of a bottle on this machine, as `bottle virtual --socket` makes it")
  static let adapter = Parameter.optional(
    "adapter", .text("NAME"), usual: "the first one", "the Bluetooth adapter, such as hci0")

  let central: any Central
  /// The sequence of changes to the mechanism that waits for the bottle.
  let standbys: AsyncStream<BlueZStandby?>

  /// Opens the radio that the options select.
  ///
  /// - Throws: A failure if the options select two radios, or if this machine has no usable
  ///   Bluetooth.
  init(_ call: Invocation) throws(CommandFailure) {
    let (stream, input) = AsyncStream.makeStream(of: BlueZStandby?.self)
    standbys = stream
    if let path = call[Self.path] {
      guard call[Self.adapter] == nil else {
        throw CommandFailure(.usage, "--radio and --adapter exclude each other")
      }
      do throws(RadioSocketError) {
        try SocketCentral.check(path: path)
      } catch {
        throw CommandFailure(
          .failed, error.description,
          remedy: "name the socket that `holdfast bottle virtual --socket` makes")
      }
      central = HoldfastPlatform.radio(on: path)
      return
    }
    try Self.check(call, instead: "--radio PATH")
    central = BlueZCentral(adapter: call[Self.adapter], services: [BottleAttribute.service]) {
      input.yield($0)
    }
  }

  /// Throws an error if the selected adapter cannot be used.
  ///
  /// - Parameter other: The alternative option, which does not need an adapter.
  static func check(_ call: Invocation, instead other: String) throws(CommandFailure) {
    do throws(BlueZProblem) {
      try BlueZCheck.run(adapter: call[Self.adapter])
    } catch {
      throw CommandFailure(.failed, error.text, remedy: "\(error.remedy), or use \(other)")
    }
  }
}

/// The notes that a running watch stores for `bottle status`: its last status and its standby
/// mechanism.
actor BottleNotes {
  private let store: any DrinkStore
  private var status: String?
  private var standby: BlueZStandby?
  private var isWritten = true

  init(_ store: any DrinkStore) { self.store = store }

  func note(_ text: String) async {
    status = text
    await write()
  }

  /// Notes each change of the standby mechanism until the task is cancelled.
  func note(_ standbys: AsyncStream<BlueZStandby?>) async {
    for await standby in standbys {
      self.standby = standby
      await write()
    }
  }

  /// Stores the note again if the last attempt failed.
  func retry() async {
    if !isWritten { await write() }
  }

  /// Stores the note. If that fails, the next update retries it.
  private func write() async {
    guard let status else { return }
    do throws(StoreFailure) {
      try await store.note(status + (standby.map { " (standby: \($0.rawValue))" } ?? ""))
      isWritten = true
    } catch {
      isWritten = false
    }
  }
}
