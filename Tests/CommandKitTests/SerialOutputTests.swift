import Dispatch
import Glibc
import HoldfastCommandKit
import Testing

/// Tests of the output that all lines of a command share.
struct SerialOutputTests {
  /// A pipe that holds 4,096 bytes.
  private struct SmallPipe {
    let reading: Int32
    let writing: Int32

    init() throws {
      var ends: [Int32] = [0, 0]
      try #require(unsafe pipe(&ends) == 0)
      (reading, writing) = (ends[0], ends[1])
      let setSize: Int32 = 1031  // F_SETPIPE_SZ of fcntl(2)
      try #require(fcntl(writing, setSize, 4_096) == 4_096)
    }

    /// Returns what is written until all writers are closed, read in small parts.
    func text() -> String {
      var bytes: [UInt8] = []
      var part = [UInt8](repeating: 0, count: 1_000)
      while case let count = unsafe read(reading, &part, part.count), count > 0 {
        bytes += part.prefix(count)
      }
      _ = close(reading)
      return String(decoding: bytes, as: UTF8.self)
    }
  }

  /// Returns what a slow reader receives from outputs that write numbered lines at the same time.
  private static func received(
    _ count: Int, from outputs: (Int32, Int32) -> [SerialOutput]
  ) throws -> [Substring] {
    let pipe = try SmallPipe()
    let other = dup(pipe.writing)
    let writers = DispatchGroup()
    for (writer, output) in outputs(pipe.writing, other).enumerated() {
      DispatchQueue(label: "writer \(writer)").async(group: writers) {
        for number in 0..<count { _ = output.write(Self.line(number, of: writer) + "\n") }
      }
    }
    writers.notify(queue: .global()) { for end in [pipe.writing, other] { _ = close(end) } }
    return pipe.text().split(separator: "\n")
  }

  private static func line(_ number: Int, of writer: Int) -> String {
    "\(writer) \(number) " + String(repeating: "\(writer)", count: 9_000)
  }

  private static func checkWhole(_ lines: [Substring], _ count: Int, writers: Int) {
    for writer in 0..<writers {
      let own = lines.filter { $0.hasPrefix("\(writer) ") }
      #expect(own.map(String.init) == (0..<count).map { line($0, of: writer) })
    }
    #expect(lines.count == count * writers)
  }

  @Test func `lines of several threads are whole and in order, however slow the reader is`() throws
  {
    let lines = try Self.received(50) { descriptor, _ in
      let output = SerialOutput(descriptor)
      return [output, output, output, output]
    }
    Self.checkWhole(lines, 50, writers: 4)
  }

  @Test func `results and diagnostics in one file do not mix`() throws {
    let lines = try Self.received(50) { descriptor, other in
      let output = SerialOutput(descriptor)
      return [output, SerialOutput(other, beside: output)]
    }
    Self.checkWhole(lines, 50, writers: 2)
  }

  @Test func `a blocked output does not hold up that of another file`() throws {
    let (blocked, free) = (try SmallPipe(), try SmallPipe())
    let results = SerialOutput(blocked.writing)
    let diagnostics = SerialOutput(free.writing, beside: results)
    let writing = DispatchGroup()
    DispatchQueue(label: "blocked").async(group: writing) {
      _ = results.write(Self.line(1, of: 1))
      _ = close(blocked.writing)
    }
    var waiting = pollfd(fd: blocked.reading, events: Int16(POLLIN), revents: 0)
    #expect(unsafe poll(&waiting, 1, -1) == 1)
    #expect(diagnostics.write("said\n") == 0)
    _ = close(free.writing)
    #expect(free.text() == "said\n")
    #expect(blocked.text() == Self.line(1, of: 1))
    writing.wait()
  }

  @Test func `the error number of a failed write is returned`() throws {
    let pipe = try SmallPipe()
    _ = signal(SIGPIPE, SIG_IGN)
    _ = close(pipe.reading)
    #expect(SerialOutput(pipe.writing).write("x") == EPIPE)
    _ = close(pipe.writing)
  }

  @Test func `a write is in progress for its own output until it ends`() {
    var writes = OutputWrites()
    writes.begin(1)
    writes.begin(1)
    let before = writes
    writes.end(1)
    #expect(writes != before)
    #expect(writes.descriptors == [1])
    writes.begin(2)
    #expect(writes.descriptors == [1, 2])
    writes.end(1)
    #expect(writes.descriptors == [2])
    writes.end(2)
    writes.end(2)
    #expect(writes.descriptors == [])
    #expect(writes != OutputWrites())
  }
}
