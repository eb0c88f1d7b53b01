import HoldfastCore
import HoldfastTestKit

/// A demo in which phones follow a shop through three nodes over PostgreSQL and a balancer, while
/// each part is killed. Servers of NATS take part if they are installed.
public struct ClusterDemo: Sendable {
  private let program: String
  private let scenes: [ClusterScene]
  private let seed: UInt64
  private let narrator: Narrator
  private let work: Duration
  private let output: @Sendable (String) -> Void

  /// Creates a demo.
  ///
  /// - Parameters:
  ///   - program: The executable file that is run as the nodes and as the phones.
  ///   - names: The scenes to play, from `ClusterDemo.names`. If the set is empty, all are played.
  ///   - seed: The seed of the customers' texts.
  ///   - work: The time that the machine may need for each fault, beyond what the policies set.
  ///   - output: A function that receives the output line by line.
  public init(
    program: String, scenes names: Set<String> = [], seed: UInt64, narrator: Narrator,
    work: Duration = .seconds(2), output: @escaping @Sendable (String) -> Void
  ) {
    scenes = ClusterScene.all.filter { names.isEmpty || names.contains($0.trouble.name) }
    (self.program, self.seed, self.narrator) = (program, seed, narrator)
    (self.work, self.output) = (work, output)
  }

  /// Plays the scenes in about a minute. Returns whether the ledger is clean.
  ///
  /// Cancel the task to end the demo early. Unless it is killed, the demo leaves no processes or files
  /// behind.
  public func run() async throws(DemoFailure) -> Bool {
    let programs = try Self.programs()
    let scratch = try Demo.scratch()
    defer { scratch.remove() }
    let stage = try ClusterStage(
      scratch: scratch, scenes: scenes, seed: seed, program: program, programs: programs,
      narrator: narrator, work: work, output: output)
    let isClean: Result<Bool, DemoFailure>
    do throws(DemoFailure) {
      isClean = .success(try await stage.play())
    } catch {
      isClean = .failure(error)
    }
    await stage.clear()
    return try isClean.get()
  }

  /// Whether the programs that the demo needs are installed.
  static var isPossible: Bool { (try? programs()) != nil }

  /// Returns the programs of PostgreSQL, if all programs that the demo needs are installed.
  private static func programs() throws(DemoFailure) -> DatabasePrograms {
    guard let programs = DatabasePrograms(), Shell.find("haproxy") != nil else {
      throw .setup(
        "PostgreSQL and haproxy are not both installed; run apt-get install postgresql haproxy, "
          + "and nats-server for reports over NATS")
    }
    return programs
  }

  /// The titles of the scenes, in order.
  public static var titles: [String] { ClusterScene.all.map(\.title) }

  /// The names of the scenes, in order.
  public static var names: [String] { ClusterScene.all.map(\.trouble.name) }
}
