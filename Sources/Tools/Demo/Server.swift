import HoldfastBackend

/// The backend through all its lives: the same port, the same data.
actor Server {
  nonisolated let directory: String
  private var backend: Backend?
  private(set) var port: UInt16 = 0

  init(directory: String) {
    self.directory = directory
  }

  var url: String { "http://127.0.0.1:\(port)" }

  func start(offersStream: Bool = true) async throws(DemoFailure) {
    var configuration = BackendConfiguration(dataDirectory: directory)
    configuration.port = port
    configuration.policy = DemoPolicy.server(offersStream: offersStream)
    let next = Backend(configuration)
    do throws(BackendError) {
      port = try await next.start().port
    } catch {
      throw .setup("the server did not start: \(error)")
    }
    backend = next
  }

  /// Ends without a word, as a crash does.
  func crash() async {
    await backend?.kill()
    backend = nil
  }
}
