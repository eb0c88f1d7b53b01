import Glibc
import HoldfastCore
import HoldfastLinuxEvents
import HoldfastPorts

/// The choice of the server among the hosts of a URL.
///
/// All hosts are asked at the same time. The writable one with the highest timeline is chosen, since
/// a former primary that came back also accepts writes. libpq alone would take the first one.
struct ServerChoice {
  /// The time for which hosts that do not answer are waited for while another one can be used.
  static let grace = Duration.seconds(2)

  /// A connection that is being established, and the events that it waits for.
  private struct Pending {
    let connection: Connection
    let wait: pollfd
  }

  /// The time for the first query of a connection. A busy server is waited for if it is the only one.
  private let examination: Duration
  private var pending: [Pending] = []
  private var candidates: [Connection] = []
  private var problems: [String] = []

  private init(hosts count: Int) {
    examination = count == 1 ? Connection.patience : .seconds(1)
  }

  /// Connects to the server that is chosen.
  ///
  /// - Parameter known: The highest timeline that the node has seen. Servers with a lower one are
  ///   not used.
  static func open(
    _ settings: DatabaseSettings, applicationName: String, known: Int64
  ) throws(DatabaseFailure) -> Connection {
    var choice = ServerChoice(hosts: settings.hosts.count)
    for host in settings.hosts {
      choice.advance(try Connection(to: host, applicationName: applicationName))
    }
    choice.waitForHosts()
    let best = choice.candidates.max { $0.timeline < $1.timeline }
    guard let best, best.timeline >= known else {
      if let best {
        choice.problems.append(
          "\(best.host) has timeline \(best.timeline), and \(known) was seen before")
      }
      throw .lost(detail: choice.problems.joined(separator: "; "))
    }
    return best
  }

  private mutating func waitForHosts() {
    let start = BootClock().now
    while !pending.isEmpty {
      let limit = candidates.isEmpty ? Connection.patience : Self.grace
      let left = BootClock().now.duration(to: start.advanced(by: limit))
      guard left > .zero else {
        problems += pending.map { "\($0.connection.host) does not answer" }
        return
      }
      var waits = pending.map(\.wait)
      _ = unsafe poll(&waits, nfds_t(waits.count), left.milliseconds)
      let waiting = pending
      pending = []
      for (one, wait) in zip(waiting, waits) {
        if wait.revents == 0 { pending.append(one) } else { advance(one.connection) }
      }
    }
  }

  private mutating func advance(_ connection: Connection) {
    switch connection.advance() {
    case .waiting(let descriptor, let events):
      let wait = pollfd(fd: descriptor, events: events, revents: 0)
      pending.append(Pending(connection: connection, wait: wait))
    case .connected: examine(connection)
    case .failed(let problem): problems.append(problem)
    }
  }

  private static let state = Command(
    """
    SELECT pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on',
      CASE WHEN pg_is_in_recovery() THEN 0::bigint
      ELSE ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint END,
      set_config('synchronous_commit', CASE WHEN current_setting('synchronous_commit')
        IN ('off', 'local') THEN 'on' ELSE current_setting('synchronous_commit') END, false)
    """)

  private mutating func examine(_ connection: Connection) {
    do {
      guard let row = try connection.run([Self.state], within: examination)[0].first else { return }
      if try row.flag(0) {
        problems.append("\(connection.host) accepts no writes")
      } else {
        connection.timeline = try row.integer(1)
        candidates.append(connection)
      }
    } catch let failure as DatabaseFailure {
      problems.append("\(connection.host): \(failure.detail)")
    } catch {
      problems.append("\(connection.host): \(error)")
    }
  }
}
