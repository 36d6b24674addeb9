package sandbox

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// ssh and what goes over it, by name and without any proxy variable.
func TestClientsOverSSH(t *testing.T) {
	s := newSite(t)
	config := s.startSSH(t)
	sh := func(script string) func(string) []string {
		script = strings.NewReplacer("$CONFIG", config, "$DIR", s.repos).Replace(script)
		return func(host string) []string { return []string{"sh", "-c", script, host} }
	}
	s.tryAll(t, []clientRow{
		{name: "ssh", tool: "ssh", argv: sh(`ssh -F $CONFIG $0 cat $DIR/w/file`), want: "committed"},
		{name: "scp", tool: "scp", argv: sh(`scp -q -F $CONFIG $0:$DIR/w/file got && cat got`), want: "committed"},
		{name: "sftp", tool: "sftp", argv: sh(`echo get $DIR/w/file got | sftp -q -F $CONFIG -b - $0 && cat got`), want: "committed"},
		{name: "rsync", tool: "rsync", argv: sh(`rsync -e 'ssh -F $CONFIG' $0:$DIR/w/file got && cat got`), want: "committed"},
		{name: "git", tool: "git", argv: sh(`GIT_SSH_COMMAND="$GIT_SSH_COMMAND -F $CONFIG" git clone -q ssh://$0$DIR/r.git && cat r/file`), want: "committed"},
	})
}

// A host that is allowed on another port only is refused through ssh itself.
func TestClientsSSHIsToldWhy(t *testing.T) {
	needTool(t, "ssh")
	r := netCommand(t, allow(t, "site.test:443"), "ssh", "-F", "none", "-o", "BatchMode=yes", "site.test")
	began := time.Now()
	out, _ := r.output(t)
	if took := time.Since(began); !strings.Contains(out, "site.test:22") || !strings.Contains(out, "allowedDomains") || took > tooLong {
		t.Errorf("after %v: %s", took, out)
	}
}

// startSSH starts an SSH server and returns the configuration of a client that
// knows its host key and has a key of its own.
func (s *site) startSSH(t *testing.T) (config string) {
	t.Helper()
	sshd := "/usr/sbin/sshd"
	needTool(t, sshd)
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	pam := "yes" // else an account without a password counts as locked
	if me.Uid == "0" {
		pam = "no"
		// sshd(8): where its unprivileged half lives.
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
			t.Fatal(err)
		}
	}
	port := freePort(t)
	at := func(name string) string { return filepath.Join(s.repos, name) }
	for _, key := range []string{"host", "mine"} {
		if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", at(key)).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	public, err := os.ReadFile(at("host.pub"))
	if err != nil {
		t.Fatal(err)
	}
	known := ""
	for _, host := range []string{"site.test", "denied.test"} {
		known += fmt.Sprintf("[%s]:%d %s", host, port, public)
	}
	for name, text := range map[string]string{
		"sshd_config": fmt.Sprintf("ListenAddress 127.0.0.1\nPort %d\nHostKey %s\nAuthorizedKeysFile %s\nStrictModes no\nUsePAM %s\nPidFile none\nPermitRootLogin yes\nSubsystem sftp internal-sftp\n",
			port, at("host"), at("mine.pub"), pam),
		"ssh_config":  fmt.Sprintf("Port %d\nUser %s\nIdentityFile %s\nUserKnownHostsFile %s\nBatchMode yes\n", port, me.Username, at("mine"), at("known_hosts")),
		"known_hosts": known,
	} {
		if err := os.WriteFile(at(name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	startServer(t, exec.Command(sshd, "-D", "-e", "-f", at("sshd_config")), port)
	return at("ssh_config")
}

// Databases, whose protocols no proxy variable is for.
func TestClientsOfDatabases(t *testing.T) {
	s := newSite(t)
	sh := func(script string, port uint16) func(string) []string {
		script = strings.ReplaceAll(script, "$PORT", strconv.Itoa(int(port)))
		return func(host string) []string { return []string{"sh", "-c", script, host} }
	}
	redis := freePort(t)
	needTool(t, "redis-server")
	startServer(t, exec.Command("redis-server", "--port", strconv.Itoa(int(redis)), "--bind", "127.0.0.1", "--save", "", "--dir", s.repos), redis)
	s.tryAll(t, []clientRow{
		{name: "redis-cli", tool: "redis-cli", argv: sh(`redis-cli -h $0 -p $PORT ping`, redis), want: "PONG"},
		{name: "psql", tool: "psql", argv: sh(`psql -h $0 -p $PORT -U u -d postgres -Atc 'select 40 + 2'`, s.startPostgres(t)), want: "42"},
	})
}

// startPostgres starts a server, which refuses to run as root.
func (s *site) startPostgres(t *testing.T) uint16 {
	t.Helper()
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	if len(found) == 0 {
		missing(t, "postgresql")
	}
	bin, data, port := found[len(found)-1], filepath.Join(s.repos, "pg"), freePort(t)
	attr := &syscall.SysProcAttr{Setpgid: true}
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	if os.Getuid() == 0 {
		const nobody = 65534
		attr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
		if err := os.Chown(data, nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	initdb := exec.Command(filepath.Join(bin, "initdb"), "-D", data, "-U", "u", "-A", "trust", "-N")
	initdb.SysProcAttr = attr
	if out, err := initdb.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	server := exec.Command(filepath.Join(bin, "postgres"), "-D", data, "-p", strconv.Itoa(int(port)), "-h", "127.0.0.1", "-k", "", "-F")
	server.SysProcAttr = attr
	startServer(t, server, port)
	return port
}

// startServer starts a server of this host's loopback and waits for its port.
func startServer(t *testing.T, cmd *exec.Cmd, port uint16) {
	t.Helper()
	var said strings.Builder
	cmd.Stdout, cmd.Stderr, cmd.Dir = &said, &said, "/"
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		if waited := cmd.Wait(); t.Failed() {
			t.Log(errors.Join(err, waited), said.String())
		}
	})
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if c, err := net.Dial("tcp", hostPort("127.0.0.1", port)); err == nil {
			c.Close()
			return
		}
	}
	t.Fatalf("%s does not listen", cmd.Path)
}
