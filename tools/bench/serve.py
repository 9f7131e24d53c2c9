#!/usr/bin/env python3
"""How fast `icee serve` answers many workers, and what is left of its word when it is killed. Only the standard library.

    cargo build -p icee-cli
    tools/bench/serve.py load --store folder --workers 200 --studies 1 --seconds 20
    tools/bench/serve.py load --store postgres --workers 200 --studies 50 --seconds 20
    tools/bench/serve.py told --told 100 100000 --rows 120000 --sampler learned
    tools/bench/serve.py kill --store postgres --servers 2 --kills 100

`told` is the time of one ask and one tell, by how many values the study has.
`kill` sends SIGKILL to servers, and to the database, at random moments while workers ask and tell and others list and look at studies; in the
end no row may have been given to two workers, everything that was acknowledged must be there, and no look may have been answered with anything
but the study.
"""

import argparse, collections, glob, http.client, json, os, random, shutil, signal, socket, subprocess, tempfile, threading, time, uuid

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ICEE = os.environ.get("ICEE", os.path.join(ROOT, "target/debug/icee"))


class Postgres:
    """A database in a folder of its own, which is killed and started again."""

    def __init__(self, folder):
        self.bin = sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1]
        self.folder, self.data = folder, os.path.join(folder, "data")
        self.user = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", "--"] if os.getuid() == 0 else []
        if os.getuid() == 0:
            os.chmod(folder, 0o777)
        subprocess.run([*self.user, f"{self.bin}/initdb", "--auth=trust", "--username=icee", "--encoding=UTF8", "--locale=C", "-D", self.data], check=True, stdout=subprocess.DEVNULL)
        self.url = f"postgres://icee@{folder.replace('/', '%2F')}/postgres"
        self.start()

    def start(self):
        command = [*self.user, f"{self.bin}/postgres", "-c", "listen_addresses=", "-k", self.folder, "-D", self.data]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while subprocess.run([f"{self.bin}/pg_isready", "-q", "-h", self.folder, "-U", "icee", "-d", "postgres"]).returncode:
            time.sleep(0.05)

    def kill(self):
        """All of its processes at once, as when the machine loses its power."""
        children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(self.process.pid)], capture_output=True, text=True).stdout.split()
        for pid in [self.process.pid, *map(int, children)]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait()
        time.sleep(0.2)


class Server:
    """A server that is killed and started again at the same port."""

    def __init__(self, place):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.place = place
        self.start()

    def start(self):
        command = [ICEE, "serve", "--port", str(self.port), "--most-rate", "1000000", "--most-concurrent", "1024", *self.place]
        while True:
            self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            for _ in range(200):
                if self.process.poll() is not None:
                    break
                try:
                    socket.create_connection(("127.0.0.1", self.port), 1).close()
                    return
                except OSError:
                    time.sleep(0.02)
            # The database may not be there yet.
            time.sleep(0.1)

    def kill(self):
        self.process.kill()
        self.process.wait()


class Client:
    """One worker's connection: sends again what got no answer, to the next server, with the same key."""

    #: What was answered where it was to be sent again, and how often.
    refused = collections.Counter()

    def __init__(self, ports, first=0):
        self.ports, self.at, self.connection = ports, first, None

    def send(self, method, path, body=None, keyed=True):
        """Status and answer. A request counts as acknowledged when this returns 200."""
        headers = {"Content-Type": "application/json"}
        if keyed and method == "POST":
            headers["Idempotency-Key"] = str(uuid.uuid4())
        for attempt in range(400):
            try:
                if self.connection is None:
                    self.connection = http.client.HTTPConnection("127.0.0.1", self.ports[self.at % len(self.ports)], timeout=60)
                self.connection.request(method, path, json.dumps(body) if body is not None else None, headers)
                answer = self.connection.getresponse()
                text = answer.read()
                if answer.status not in (429, 503):
                    return answer.status, json.loads(text)
                self.refused[json.loads(text)["error"]] += 1
            except (OSError, http.client.HTTPException):
                self.connection = None
                self.at += 1
            time.sleep(min(0.05 * (attempt + 1), 0.5))
        raise RuntimeError(f"no answer to {method} {path}")


def sheet(rows):
    # Irrational steps, so that no two rows are the same experiment.
    lines = [f"{(r * 0.6180339887) % 1:.6f},{(r * 0.4142135624) % 1:.6f},{'abc'[r % 3]}" for r in range(rows)]
    return "x,y,kind\n" + "\n".join(lines) + "\n"


def create(client, name, rows, sampler):
    status, answer = client.send("POST", "/api/studies", {"name": name, "sheet": sheet(rows), "direction": "maximize", "sampler": sampler})
    assert status == 201, (status, answer)


def value(row):
    return round(((row * 0.6180339887) % 1) * ((row * 0.4142135624) % 1), 6)


def percentile(times, share):
    times = sorted(times)
    return times[min(len(times) - 1, int(share * len(times)))] * 1000 if times else float("nan")


def load(args, servers):
    ports = [server.port for server in servers]
    setup = Client(ports)
    for study in range(args.studies):
        create(setup, f"s{study}", args.rows, args.sampler)
    create(setup, "idle", args.rows, args.sampler)
    times, problems, lock, end = {"ask": [], "tell": [], "look": []}, [], threading.Lock(), time.time() + args.seconds

    def work(number):
        client, path = Client(ports, number), f"/api/studies/s{number % args.studies}"
        while time.time() < end:
            begun = time.time()
            status, asked = client.send("POST", f"{path}/ask", {"more": True, "within": "1h"})
            between = time.time()
            if status != 200:
                problems.append((status, asked))
                return
            row = asked["suggestions"][0]["row"]
            status, told = client.send("POST", f"{path}/tell", {"row": row, "value": value(row)})
            with lock:
                times["ask"].append(between - begun)
                times["tell"].append(time.time() - between)
            if status != 200:
                problems.append((status, told))
                return

    def look(number):
        # At a study that nobody else is at.
        client = Client(ports, number)
        while time.time() < end:
            begun = time.time()
            client.send("GET", "/api/studies/idle/front")
            with lock:
                times["look"].append(time.time() - begun)
            time.sleep(0.1)

    begun = time.time()
    threads = [threading.Thread(target=work, args=(n,)) for n in range(args.workers)]
    threads += [threading.Thread(target=look, args=(n,)) for n in range(args.lookers)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    took = time.time() - begun
    print("store,servers,workers,studies,sampler,what,count,per_second,p50_ms,p99_ms")
    for what, all_times in times.items():
        print(f"{args.store},{len(servers)},{args.workers},{args.studies},{args.sampler},{what},{len(all_times)},{len(all_times) / took:.1f},{percentile(all_times, 0.5):.1f},{percentile(all_times, 0.99):.1f}")
    print(f"problems: {len(problems)} {problems[:2]}; sent again: {dict(Client.refused)}")


def told(args, servers):
    client = Client([server.port for server in servers])
    print("store,rows,sampler,told,what,count,p50_ms,p99_ms")
    for count in args.told:
        path = f"/api/studies/s{count}"
        create(client, f"s{count}", args.rows, args.sampler)
        lines = "".join(f"{row},{value(row)}\n" for row in range(1, count + 1))
        status, answer = client.send("POST", f"{path}/tell", {"csv": "row,value\n" + lines})
        assert status == 200, (status, answer)
        times = {"ask": [], "tell": []}
        # The first of each opens the study and reads its sheet.
        for number in range(args.asks + 1):
            begun = time.time()
            status, asked = client.send("POST", f"{path}/ask", {"more": True, "within": "1h"})
            between = time.time()
            assert status == 200, (status, asked)
            row = asked["suggestions"][0]["row"]
            status, answer = client.send("POST", f"{path}/tell", {"row": row, "value": value(row)})
            assert status == 200, (status, answer)
            if number:
                times["ask"].append(between - begun)
                times["tell"].append(time.time() - between)
        for what, all_times in times.items():
            print(f"{args.store},{args.rows},{args.sampler},{count},{what},{len(all_times)},{percentile(all_times, 0.5):.1f},{percentile(all_times, 0.99):.1f}")


def kill(args, servers, database):
    ports = [server.port for server in servers]
    create(Client(ports), "s", args.rows, "random")
    given, told, wrong, looks, lock, over = {}, {}, [], [], threading.Lock(), threading.Event()

    def work(number):
        client = Client(ports, number)
        while not over.is_set():
            status, asked = client.send("POST", "/api/studies/s/ask", {"more": True, "within": "10d"})
            if status != 200:
                wrong.append((status, asked))
                return
            row = asked["suggestions"][0]["row"]
            with lock:
                if row in given:
                    wrong.append(("given twice", row))
                given[row] = number
            status, answer = client.send("POST", "/api/studies/s/tell", {"row": row, "value": value(row)})
            if status == 200:
                told[row] = value(row)
            else:
                wrong.append((status, answer))
                return

    def look(number):
        """Lists studies and looks at this one: what was told once is told ever after."""
        client, seen = Client(ports, number), 0
        while not over.is_set():
            known = len(told)
            for path in ["/api/studies", "/api/studies/s", "/api/studies/s/running", "/api/studies/s/best"]:
                status, answer = client.send("GET", path)
                looks.append(path)
                if status != 200 or path == "/api/studies" and answer["studies"][0]["problem"] is not None:
                    wrong.append((status, path, answer))
                    return
                if path == "/api/studies/s":
                    count = len(answer["told"])
                    if count < max(seen, known):
                        wrong.append(("a look has lost rows", count, seen, known))
                    seen = count

    threads = [threading.Thread(target=work, args=(n,)) for n in range(args.workers)]
    threads += [threading.Thread(target=look, args=(n,)) for n in range(args.lookers)]
    [thread.start() for thread in threads]
    kills = {"server": 0, "database": 0}
    for number in range(args.kills):
        time.sleep(random.uniform(0.05, 0.6))
        if database and number % 2:
            database.kill()
            database.start()
            kills["database"] += 1
        else:
            victim = random.choice(servers)
            victim.kill()
            victim.start()
            kills["server"] += 1
    over.set()
    [thread.join() for thread in threads]
    status, study = Client(ports).send("GET", "/api/studies/s")
    there = {row["row"]: row["value"] for row in study["told"]}
    lost = [row for row, known in told.items() if there.get(row) != known]
    print(f"store {args.store}, {len(servers)} servers, {args.workers} workers, kills {kills}: {len(given)} rows given, {len(told)} tells acknowledged, {len(there)} told in the study, {len(looks)} looks")
    print(f"given twice: {sum(1 for w in wrong if w[0] == 'given twice')}, acknowledged and lost: {len(lost)}, other problems: {[w for w in wrong if w[0] != 'given twice'][:3]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["load", "told", "kill"])
    parser.add_argument("--store", choices=["folder", "postgres"], default="folder")
    parser.add_argument("--servers", type=int, default=1)
    parser.add_argument("--workers", type=int, default=20)
    parser.add_argument("--lookers", type=int, default=4)
    parser.add_argument("--studies", type=int, default=1)
    parser.add_argument("--rows", type=int, default=20000)
    parser.add_argument("--sampler", default="random")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--told", type=int, nargs="+", default=[100, 100000])
    parser.add_argument("--asks", type=int, default=20)
    args = parser.parse_args()
    folder, database = tempfile.mkdtemp(prefix="icee-bench-"), None
    servers = []
    try:
        place = ["--studies", os.path.join(folder, "studies")]
        if args.store == "postgres":
            database = Postgres(folder)
            place = ["--store", database.url]
        servers = [Server(place) for _ in range(args.servers)]
        if args.what == "kill":
            kill(args, servers, database)
        else:
            {"load": load, "told": told}[args.what](args, servers)
    finally:
        [server.kill() for server in servers]
        if database:
            database.kill()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
