import BluetoothBlueZ
import CommandKit
import Holdfast
import LinkCore
import LinkRuntime
import LinkWire
import RadioSocket

/// The radio of a command: Bluetooth of this machine, or a Unix socket.
struct BottleRadio: Sendable {
  static let path = Parameter.optional(
    "radio", .text("PATH"), usual: "Bluetooth of this machine",
    "the Unix socket of a bottle on this machine, as `bottle virtual --socket` makes it")
  static let adapter = Parameter.optional(
    "adapter", .text("NAME"), usual: "the first one", "the Bluetooth adapter, such as hci0")

  let central: any Central
  /// What waits for the bottle, each time that it changes.
  let standbys: AsyncStream<BlueZStandby?>

  /// Opens the radio that a call names.
  ///
  /// - Throws: if it names two, or if this machine has no Bluetooth that can be used.
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
      central = Platform.radio(on: path)
      return
    }
    try Self.check(call, instead: "--radio PATH")
    central = BlueZCentral(adapter: call[Self.adapter], services: [BottleAttribute.service]) {
      input.yield($0)
    }
  }

  /// Looks whether the adapter that a call names can be used.
  ///
  /// - Parameter other: the option that needs no adapter.
  static func check(_ call: Invocation, instead other: String) throws(CommandFailure) {
    do throws(BlueZProblem) {
      try BlueZCheck.run(adapter: call[Self.adapter])
    } catch {
      throw CommandFailure(.failed, error.text, remedy: "\(error.remedy), or use \(other)")
    }
  }
}

/// What `bottle status` tells of a running watch: its last status, and what waits for the bottle.
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

  /// Notes each change until the task is cancelled.
  func note(_ standbys: AsyncStream<BlueZStandby?>) async {
    for await standby in standbys {
      self.standby = standby
      await write()
    }
  }

  /// Writes anew what could not be written.
  func retry() async {
    if !isWritten { await write() }
  }

  /// What cannot be noted is tried again with the next update.
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
