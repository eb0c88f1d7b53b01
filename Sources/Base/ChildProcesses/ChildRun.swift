import Dispatch

#if canImport(Glibc)
  import CHoldfastLinux
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// A running program that receives a fixed input and whose output is read while it runs.
///
/// The program leads its own process group. One thread serves the pipes until the program has
/// ended. Output that other processes of the group write afterwards is not read.
package final class ChildRun: Sendable {
  private let process: ChildProcess

  /// Starts a program.
  ///
  /// - Parameters:
  ///   - input: The complete contents of the standard input.
  ///   - output: A function that is called with each piece of the standard output, in order.
  ///   - ended: A function that is called once, after the last piece, with the last bytes of the
  ///     standard error.
  package init(
    _ launch: ChildLaunch, input: [UInt8],
    output: @escaping @Sendable ([UInt8]) -> Void,
    ended: @escaping @Sendable (ChildProcess.Ending, _ errors: [UInt8]) -> Void
  ) throws(ChildFailure) {
    let pipes = try Self.openPipes(4)
    let (feed, answer, errors, end) = (pipes[0], pipes[1], pipes[2], pipes[3])
    var launch = launch
    (launch.input, launch.output, launch.error) = (
      feed.reading, answer.writing, errors.writing
    )
    (launch.leadsGroup, launch.closesOthers) = (true, true)
    do throws(ChildFailure) {
      process = try ChildProcess(launch)
    } catch {
      for pipe in pipes { pipe.close() }
      throw error
    }
    for descriptor in [feed.reading, answer.writing, errors.writing] { _ = close(descriptor) }
    // Closing the writing end makes the reading end readable, so that `serve` returns.
    process.whenEnded { _ in _ = close(end.writing) }
    let ports = ChildPorts(
      input: feed.writing, output: answer.reading, errors: errors.reading, end: end.reading)
    DispatchQueue(label: "holdfast.run").async { [process] in
      var service = ChildService(ports, input: input, output: output)
      service.serve()
      let errors = service.errors
      process.whenEnded { ended($0, errors) }
    }
  }

  private static func openPipes(_ count: Int) throws(ChildFailure) -> [Pipe] {
    var pipes: [Pipe] = []
    for _ in 0..<count {
      do throws(ChildFailure) {
        pipes.append(try Pipe())
      } catch {
        for pipe in pipes { pipe.close() }
        throw error
      }
    }
    return pipes
  }

  /// Kills the program and its whole process group. `ended` is called afterwards.
  package func kill() { process.signal(SIGKILL) }

  deinit { kill() }
}

extension Pipe {
  /// Closes both ends.
  fileprivate func close() {
    for end in [reading, writing] { _ = systemClose(end) }
  }
}

/// The ends of a program's pipes that belong to this process.
private struct ChildPorts {
  var input: Int32
  var output: Int32
  var errors: Int32
  /// The descriptor that becomes readable once the program has ended.
  var end: Int32
}

/// A loop that writes to a program and reads from it on the calling thread.
private struct ChildService {
  /// The maximum number of bytes of standard error that are kept. Older bytes are dropped.
  private static let errorBytes = 2_000
  private static let chunk = 65_536

  private let ports: ChildPorts
  private let output: @Sendable ([UInt8]) -> Void
  private var rest: ArraySlice<UInt8>
  private var watched: [pollfd]
  private var buffer = [UInt8](repeating: 0, count: chunk)
  private(set) var errors: [UInt8] = []

  /// The indices of the descriptors in `watched`.
  private enum Index {
    static let input = 0
    static let output = 1
    static let errors = 2
    static let end = 3
  }

  init(
    _ ports: ChildPorts, input: [UInt8], output: @escaping @Sendable ([UInt8]) -> Void
  ) {
    (self.ports, self.output, rest) = (ports, output, input[...])
    watched = [
      pollfd(fd: ports.input, events: Int16(POLLOUT), revents: 0),
      pollfd(fd: ports.output, events: Int16(POLLIN), revents: 0),
      pollfd(fd: ports.errors, events: Int16(POLLIN), revents: 0),
      pollfd(fd: ports.end, events: Int16(POLLIN), revents: 0),
    ]
    for descriptor in [ports.input, ports.output, ports.errors] {
      _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
    }
    // If the program has ended without reading its input, a write to it must not end this process.
    var signals = sigset_t()
    unsafe sigemptyset(&signals)
    unsafe sigaddset(&signals, SIGPIPE)
    unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
  }

  /// Serves the pipes until the program has ended and all of its output has been read.
  mutating func serve() {
    if rest.isEmpty { stop(Index.input) }
    while watched[Index.end].fd >= 0 {
      guard unsafe poll(&watched, nfds_t(watched.count), -1) >= 0 || errno == EINTR else { break }
      if watched[Index.input].revents != 0 { feed() }
      if watched[Index.output].revents != 0 { readOutput() }
      if watched[Index.errors].revents != 0 { readErrors() }
      if watched[Index.end].revents != 0 { stop(Index.end) }
    }
    while watched[Index.output].fd >= 0, readOutput() {}
    while watched[Index.errors].fd >= 0, readErrors() {}
    for index in watched.indices { stop(index) }
  }

  /// Closes the descriptor at an index, and no longer watches it.
  private mutating func stop(_ index: Int) {
    guard watched[index].fd >= 0 else { return }
    close(watched[index].fd)
    watched[index].fd = -1
    watched[index].revents = 0
  }

  private mutating func feed() {
    let count = unsafe rest.withUnsafeBytes {
      unsafe write(watched[Index.input].fd, $0.baseAddress, min($0.count, Self.chunk))
    }
    if count > 0 { rest = rest.dropFirst(count) }
    let isOver = count < 0 && errno != EAGAIN && errno != EINTR
    if isOver || rest.isEmpty { stop(Index.input) }
  }

  /// Reads a piece of the output. Returns whether there may be more.
  @discardableResult
  private mutating func readOutput() -> Bool {
    guard let bytes = read(Index.output) else { return false }
    output(bytes)
    return true
  }

  @discardableResult
  private mutating func readErrors() -> Bool {
    guard let bytes = read(Index.errors) else { return false }
    errors += bytes
    if errors.count > Self.errorBytes { errors.removeFirst(errors.count - Self.errorBytes) }
    return true
  }

  private mutating func read(_ index: Int) -> [UInt8]? {
    let count = unsafe systemRead(watched[index].fd, &buffer, buffer.count)
    if count == 0 || count < 0 && errno != EAGAIN && errno != EINTR { stop(index) }
    return count > 0 ? Array(buffer[..<count]) : nil
  }
}

private func systemClose(_ descriptor: Int32) -> Int32 { close(descriptor) }

private func systemRead(
  _ descriptor: Int32, _ buffer: UnsafeMutableRawPointer, _ count: Int
) -> Int {
  unsafe read(descriptor, buffer, count)
}
