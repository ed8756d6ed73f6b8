# dogu in a container: docker build -t dogu . && docker run --rm -it -v "$PWD:/work" --user "$(id -u):$(id -g)" dogu
FROM python:3.13-slim AS build
RUN python -m venv /opt/dogu
COPY . /source
RUN /opt/dogu/bin/pip install --no-cache-dir "/source[mcp,acp,re2]"

FROM python:3.13-slim
# git for the model's commands, bubblewrap for their sandbox (a container that may not make namespaces uses Landlock).
# hadolint ignore=DL3008
RUN apt-get update && apt-get install -y --no-install-recommends git bubblewrap && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home --uid 1000 dogu && mkdir /work && chown dogu /work && chmod 1777 /home/dogu
COPY --from=build /opt/dogu /opt/dogu
ENV PATH=/opt/dogu/bin:$PATH HOME=/home/dogu
USER 1000:1000
WORKDIR /work
ENTRYPOINT ["dogu"]
