import Dispatch
import Glibc
import HoldfastBottleData
import Synchronization
import Testing

@testable import HoldfastRadioSocket

@Suite(.timeLimit(.minutes(60)))
struct FrameChannelTests {
  private enum Event: Equatable {
    case frame(RadioFrame)
    case ended
  }

  /// Returns two connected sockets. The first one is non-blocking.
  private static func pair() throws -> (Int32, Int32) {
    var ends: [Int32] = [0, 0]
    try #require(unsafe socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
    try #require(fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0)
    return (ends[0], ends[1])
  }

  @Test func `frames sent before the other end closed are delivered before the end`() async throws {
    let (near, far) = try Self.pair()
    // The frames have more bytes than one read returns.
    let frames = (0..<20).map { RadioFrame.reply($0, [UInt8](repeating: UInt8($0), count: 400)) }
    for frame in frames { try #require(LocalSocket.write(frame.bytes, to: far)) }
    close(far)
    let queue = DispatchQueue(label: "test")
    let (events, continuation) = AsyncStream.makeStream(of: Event.self)
    let channel = queue.sync {
      FrameChannel(near, on: queue) {
        continuation.yield(.frame($0))
      } ended: {
        continuation.yield(.ended)
        continuation.finish()
      }
    }
    var found: [Event] = []
    for await event in events { found.append(event) }
    #expect(found == frames.map(Event.frame) + [.ended])
    withExtendedLifetime(channel) {}
  }

  @Test func `a channel ended by its handler sends nothing but delivers the frames already read`()
    async throws
  {
    let (near, far) = try Self.pair()
    defer { close(far) }
    for number in 0..<3 {
      try #require(LocalSocket.write(RadioFrame.reply(UInt16(number), []).bytes, to: far))
    }
    let queue = DispatchQueue(label: "test")
    let taken = Mutex<[RadioFrame]>([])
    let ends = Mutex<FrameChannel?>(nil)
    queue.sync {
      let channel = FrameChannel(near, on: queue) { frame in
        taken.withLock { $0.append(frame) }
        ends.withLock { $0 }?.end()
        ends.withLock { $0 }?.send(.connect)
      } ended: {
      }
      ends.withLock { $0 = channel }
    }
    // The descriptor is closed once the queue has canceled the source.
    var byte: UInt8 = 0
    #expect(unsafe read(far, &byte, 1) == 0, "nothing was sent")
    #expect(taken.withLock(\.count) == 3, "the frames of one read are delivered")
  }
}
