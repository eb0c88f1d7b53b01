/// The list of all benchmarks.
enum Catalogue {
  static func benchmarks(isFull: Bool) -> [Benchmark] {
    [
      Ingest.benchmark(count: isFull ? 100_000 : 20_000),
      Ingest.limit(count: isFull ? 100_000 : 20_000),
      Insertion.benchmark(count: isFull ? 20_000 : 5_000),
      CatchUp.time(count: isFull ? 100_000 : 20_000),
      CatchUp.memory(count: 100_000),
    ] + Rest.benchmarks(isFull: isFull) + Engine.benchmarks(isFull: isFull)
      + Recovery.benchmarks(isFull: isFull) + Transport.benchmarks(isFull: isFull)
      + Sockets.benchmarks(isFull: isFull) + BackendCrowd.benchmarks(isFull: isFull)
      + SessionEcho.benchmarks(isFull: isFull) + SessionRecovery.benchmarks(isFull: isFull)
      + [Storm.benchmark()] + Import.benchmarks(megabytes: isFull ? 1_000 : 60)
      + SyncBenchmarks.benchmarks(count: isFull ? 100_000 : 20_000)
      + BottleReconnects.benchmarks(isFull: isFull) + Pictures.benchmarks()
      + RelayLoad.benchmarks() + ClusterLoad.benchmarks() + standIns(isFull: isFull)
  }

  /// Returns the benchmarks of adapters over stand-ins, which only this package's own builds have.
  private static func standIns(isFull: Bool) -> [Benchmark] {
    #if HOLDFAST_STANDINS
      Dialers.benchmarks(isFull: isFull)
    #else
      []
    #endif
  }
}
